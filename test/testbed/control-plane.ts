import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { Api } from './api.ts';
import { openApi } from './api.ts';
import { writeAuditPolicy } from './audit.ts';
import { ebsDriver } from './binaries.ts';
import type { Site } from './command-lines.ts';
import {
  apiServerFlags,
  apiUrl,
  attacherFlags,
  controllerFlags,
  driverEnvironment,
  driverFlags,
  etcdFlags,
  shimDriverFlags,
  schedulerFlags,
  shimFlags,
  shimUrl,
} from './command-lines.ts';
import { freePorts } from './free-ports.ts';
import type { Guard } from './guard.ts';
import { openGuard } from './guard.ts';
import type { Identities } from './identities.ts';
import { makeIdentities } from './identities.ts';
import { install } from './installed.ts';
import type { Program } from './program.ts';
import { startProgram } from './program.ts';
import { uphold } from './uphold.ts';

/** What a test needs to know about a running control plane. It is plain data, so that another process can use it. */
export interface ControlPlaneAccess {
  readonly server: string;
  readonly ca: string;
  readonly tokens: Identities['tokens'];
  /** Paths of kubeconfig files. */
  readonly kubeconfigs: Identities['kubeconfigs'];
  readonly shim: string;
  /** Logs, keys and data. */
  readonly folder: string;
}

export interface BareControlPlane {
  readonly access: ControlPlaneAccess;
  readonly apiServer: Restartable;
  /** Kills everything. Removes the folder, unless it is to be kept. */
  readonly stop: (folder: 'keep' | 'remove') => Promise<void>;
}

export interface ControlPlane extends BareControlPlane {
  readonly attacher: Attacher;
  /** The CSI driver that the attacher calls. */
  readonly driver: Restartable;
}

export interface Ec2Access {
  readonly endpoint: string;
  readonly region: string;
}

/**
 * Asks only for the health. The port identifies the component, and some components sign their certificates themselves.
 */
const careless = new Agent({ connect: { rejectUnauthorized: false } });

const answersAt = (url: string) => async (): Promise<boolean> => {
  const { statusCode, body } = await request(url, { dispatcher: careless });
  await body.dump();
  return statusCode < 300;
};

const newSite = async (): Promise<Site> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloudfence-bench-'));
  const [etcd = 0, etcdPeer = 0, api = 0, controllers = 0, scheduler = 0, attacher = 0, shim = 0, driver = 0] =
    await freePorts(8);
  return { folder, ports: { etcd, etcdPeer, api, controllers, scheduler, attacher, shim, driver } };
};

interface Start {
  readonly site: Site;
  readonly identities: Identities;
  readonly guard: Guard;
}

const begin = ({ site, guard }: Start, name: Parameters<typeof startProgram>[0], flags: readonly string[]): Program =>
  startProgram(name, flags, site.folder, guard);

/** A controller that no test stops. If it ends by itself, it is restarted. */
const standing = async (beginAnew: () => Program, health: string): Promise<void> => {
  const program = beginAnew();
  await program.ready(answersAt(health));
  void uphold(program, beginAnew);
};

/** A component that a test may stop for a while. It is killed, and starts again unchanged. */
export interface Restartable {
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** The pod of the CSI attacher also runs on some node. */
export type Attacher = Restartable;

const restartable = (beginAnew: () => Program, health: string): Restartable => {
  let running: Program | null = null;
  return {
    start: async () => {
      if (running) return;
      running = beginAnew();
      await running.ready(answersAt(health));
    },
    stop: async () => {
      await running?.stop();
      running = null;
    },
  };
};

const startApiServer = async (start: Start): Promise<Restartable> => {
  const { site, identities } = start;
  await begin(start, 'etcd', etcdFlags(site)).ready(answersAt(`http://127.0.0.1:${site.ports.etcd}/health`));
  const apiServer = restartable(
    () => begin(start, 'kube-apiserver', apiServerFlags(site, identities)),
    `${apiUrl(site)}/readyz`,
  );
  await apiServer.start();
  return apiServer;
};

const attacherOf = (start: Start): Attacher => {
  const { site, identities } = start;
  return restartable(
    () => begin(start, 'csi-attacher', attacherFlags(site, identities)),
    `http://127.0.0.1:${site.ports.attacher}/metrics`,
  );
};

/** What the attacher calls: the shim, and the driver behind it if there is one. */
const shimOf = (start: Start, ec2: Ec2Access): Restartable => {
  const { site } = start;
  const flags = [...shimFlags(site, ec2), ...(ebsDriver === null ? [] : shimDriverFlags(site))];
  return restartable(() => begin(start, 'ebs-shim', flags), shimUrl(site));
};

const ebsDriverOf = ({ site, guard }: Start, ec2: Ec2Access): Restartable =>
  restartable(
    () => startProgram('ebs-csi-driver', driverFlags(site), site.folder, guard, driverEnvironment(ec2)),
    `http://127.0.0.1:${site.ports.driver}/metrics`,
  );

const startControllers = async (
  start: Start,
  ec2: Ec2Access,
  flags: readonly string[],
): Promise<Pick<ControlPlane, 'attacher' | 'driver'>> => {
  const { site, identities } = start;
  const { controllers, scheduler } = site.ports;
  const attacher = attacherOf(start);
  const shim = shimOf(start, ec2);
  const driver = ebsDriver === null ? shim : ebsDriverOf(start, ec2);
  const started = [
    standing(
      () => begin(start, 'kube-controller-manager', [...controllerFlags(site, identities), ...flags]),
      `https://127.0.0.1:${controllers}/healthz`,
    ),
    standing(
      () => begin(start, 'kube-scheduler', schedulerFlags(site, identities)),
      `https://127.0.0.1:${scheduler}/healthz`,
    ),
    driver.start().then(shim.start).then(attacher.start),
  ];
  await Promise.all(started);
  return { attacher, driver };
};

/** Whatever fails, nothing continues to run. The logs stay. */
const orDismissed = async <T>(guard: Guard, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    await guard.dismiss();
    throw error;
  }
};

const opened = async <T>(
  startRest: (start: Start) => Promise<T>,
  prepare: (api: Api) => Promise<void>,
): Promise<BareControlPlane & { readonly rest: T }> => {
  const site = await newSite();
  await Promise.all([mkdir(join(site.folder, 'keys')), writeAuditPolicy(site.folder)]);
  const identities = await makeIdentities(join(site.folder, 'keys'), apiUrl(site));
  const guard = openGuard();
  const start = { site, identities, guard };
  const server = apiUrl(site);
  const { rest, apiServer } = await orDismissed(guard, async () => {
    const apiServer = await startApiServer(start);
    const api = openApi(server, identities.ca, identities.tokens.admin);
    const [rest] = await Promise.all([startRest(start), prepare(api)]);
    await api.close();
    return { rest, apiServer };
  });
  const { ca, tokens, kubeconfigs } = identities;
  return {
    rest,
    apiServer,
    access: { server, ca, tokens, kubeconfigs, shim: shimUrl(site), folder: site.folder },
    stop: async (folder) => {
      await guard.dismiss();
      if (folder === 'remove') await rm(site.folder, { recursive: true, force: true });
    },
  };
};

/**
 * A whole control plane, with the CSI attacher on EC2. Every controller and every timing has the default of Kubernetes,
 * except for `flags` of the controller manager.
 */
export const startControlPlane = async (ec2: Ec2Access, flags: readonly string[] = []): Promise<ControlPlane> => {
  const { rest, ...bare } = await opened((start) => startControllers(start, ec2, flags), install);
  return { ...bare, ...rest };
};

/** Only etcd and the API server, so that only the test changes anything. */
export const startBareApiServer = (prepare: (api: Api) => Promise<void>): Promise<BareControlPlane> =>
  opened(async () => undefined, prepare);
