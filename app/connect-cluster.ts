import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { nonEmptyText } from '../fencing/model/foreign-text.ts';
import type { DiagnosisReading, ReadDriverFault, ReadClusterStanding } from '../diagnosis/ports.ts';
import type { ReadAftermath } from '../incidents/watch.ts';
import type { Cluster } from '../fencing/model/cluster.ts';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { parseJsonOrNull } from '../fencing/model/json-text.ts';
import { createAftermathReading } from '../kubernetes/readings/aftermath.ts';
import { linkFromKubeConfigs, linkFromToken } from '../kubernetes/access.ts';
import { refreshingLink } from '../kubernetes/refreshing-link.ts';
import type { KubeConfigText } from '../kubernetes/kubeconfig.ts';
import { callClock, type CallClock, type Connection } from '../kubernetes/connection.ts';
import { type CapControl, createCapControl } from '../kubernetes/ledger.ts';
import { createCluster, openConnection } from '../kubernetes/cluster.ts';
import { createDiagnosisReading } from '../kubernetes/readings/diagnosis.ts';
import { type Doctor, createDoctor } from '../kubernetes/doctor.ts';
import { createStatusReading } from '../kubernetes/readings/status.ts';
import type { Link } from '../kubernetes/exchange.ts';
import type { CloudAccess } from '../providers/plugin.ts';
import type { ClusterEntry } from '../providers/cluster-entries.ts';
import { isContent, readText, shownPath } from '../config/settings.ts';

/** Creates the reads of one diagnosis. */
export type OpenDiagnosis = (faultOf: ReadDriverFault, signal: AbortSignal) => DiagnosisReading;

export interface OpenedCluster {
  readonly cluster: Cluster;
  readonly doctor: Doctor;
  readonly cap: CapControl;
  readonly diagnosis: OpenDiagnosis;
  readonly status: ReadClusterStanding;
  readonly aftermath: ReadAftermath;
  /** For commands with additional needs, such as a drill, so that the functions do not load their code. */
  readonly connection: Connection;
  readonly connect: Link['connect'];
  readonly close: () => Promise<void>;
}

/** How long a secret is used before it is read again. After a 401, it is read again immediately. */
const SECRET_KEPT_FOR_MS = 10 * 60_000;

/**
 * The cloud of a managed cluster is asked for the address and the certificates again only after a request without an
 * answer, or after a 401.
 */
const MANAGED_KEPT_FOR_MS = Infinity;

/** The short form of a kubeconfig, for people who store the token of a service account. */
const tokenAccess = z.strictObject({ server: z.url(), ca: nonEmptyText, token: nonEmptyText });

const linkFromTexts = (texts: readonly KubeConfigText[], context: string | null): Link => {
  const [only, second] = texts;
  const short = tokenAccess.safeParse(only && !second ? parseJsonOrNull(only.content) : null);
  if (!short.success) return linkFromKubeConfigs(texts, context);
  const { server, ca, token } = short.data;
  return linkFromToken({ server, ca, token: async () => token });
};

/** Creates a link from the text of a kubeconfig, or of its short form. @throws InvalidConfiguration */
export const linkFromText = (text: string, context: string | null): Link =>
  linkFromTexts([{ content: text, file: null }], context);

/**
 * Creates a link from a text that a cloud stores. Such a text must not run programs or name files.
 * @throws InvalidConfiguration
 */
const linkFromSecretText = (text: string, context: string | null): Link =>
  linkFromTexts([{ content: text, file: null, fromSecret: true }], context);

const readKubeConfig = async (file: string): Promise<KubeConfigText> => ({
  content: await readText(file, 'the kubeconfig'),
  file,
});

/**
 * Creates a link from one kubeconfig file, or from several in the format of the variable KUBECONFIG. Skips files of the
 * list that do not exist, as kubectl does.
 * @throws InvalidConfiguration
 */
export const linkFromFiles = async (list: string, context: string | null): Promise<Link> =>
  linkFromTexts(await kubeConfigsIn(list), context);

/**
 * Reads kubeconfig files in the format of the variable KUBECONFIG.
 * @throws InvalidConfiguration if no file exists, or if a file cannot be read
 */
export const kubeConfigsIn = async (list: string): Promise<readonly KubeConfigText[]> => {
  const files = list.split(path.delimiter).filter((file) => file !== '');
  const present = files.filter(existsSync);
  if (present.length === 0)
    throw new InvalidConfiguration([
      `no kubeconfig exists at ${isContent(list) ? shownPath(list) : files.map(shownPath).join(' or ')}: give ` +
        `--kubeconfig, set KUBECONFIG, or add \`clusters\` to the configuration file`,
    ]);
  return Promise.all(present.map(readKubeConfig));
};

const fromSecret = (read: () => Promise<string>, context: string | undefined, clock: CallClock): Promise<Link> =>
  refreshingLink({
    open: async () => linkFromSecretText(await read(), context ?? null),
    clock,
    keptFor: SECRET_KEPT_FOR_MS,
  });

const linkTo = async (
  entry: ClusterEntry,
  access: CloudAccess,
  signal: AbortSignal,
  clock: CallClock,
): Promise<Link> => {
  if ('eks' in entry || 'aks' in entry || 'gke' in entry)
    return refreshingLink({
      open: async () => linkFromToken(await access.managedCluster(entry, signal)),
      clock,
      keptFor: MANAGED_KEPT_FOR_MS,
    });
  if (!('kubeconfig' in entry)) return fromSecret(() => access.secret(entry, signal), entry.context, clock);
  const context = entry.context ?? null;
  return isContent(entry.kubeconfig)
    ? linkFromText(entry.kubeconfig, context)
    : linkFromFiles(entry.kubeconfig, context);
};

/** Opens one cluster. The code for Kubernetes is loaded only together with this file. */
export const connectCluster = async (
  entry: ClusterEntry,
  access: CloudAccess,
  signal: AbortSignal,
  clock: CallClock = callClock,
): Promise<OpenedCluster> => {
  const link = await linkTo(entry, access, signal, clock);
  const options = { name: entry.name, link, clock };
  const connection = openConnection(options);
  return {
    cluster: createCluster(options),
    doctor: createDoctor(connection, link),
    cap: createCapControl(connection),
    diagnosis: (faultOf, signal) => createDiagnosisReading(connection, faultOf, signal),
    status: createStatusReading(entry.name, connection),
    aftermath: createAftermathReading(entry.name, connection),
    connection,
    connect: link.connect,
    close: link.close,
  };
};
