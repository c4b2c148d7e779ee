import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { Api } from './api.ts';
import { openApi } from './api.ts';
import type { Site } from './command-lines.ts';
import { apiServerFlags, apiUrl, attacherFlags, controllerFlags, etcdFlags, schedulerFlags, shimFlags, shimUrl } from './command-lines.ts';
import { freePorts } from './free-ports.ts';
import type { Guard } from './guard.ts';
import { openGuard } from './guard.ts';
import type { Identities } from './identities.ts';
import { makeIdentities } from './identities.ts';
import { install } from './installed.ts';
import type { Program } from './program.ts';
import { startProgram } from './program.ts';

/** What a test needs to know of a running control plane; plain data, so that it can be handed to another process. */
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

export interface ControlPlane {
  readonly access: ControlPlaneAccess;
  /** Kills everything; the folder is removed unless it is to be kept. */
  readonly stop: (folder: 'keep' | 'remove') => Promise<void>;
}

export interface Ec2Access {
  readonly endpoint: string;
  readonly region: string;
}

/** Health only: who answers is known by the port, and some components sign their certificates themselves. */
const careless = new Agent({ connect: { rejectUnauthorized: false } });

const answersAt = (url: string) => async (): Promise<boolean> => {
  const { statusCode, body } = await request(url, { dispatcher: careless });
  await body.dump();
  return statusCode === 200;
};

const newSite = async (): Promise<Site> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloudfence-bench-'));
  const [etcd = 0, etcdPeer = 0, api = 0, controllers = 0, scheduler = 0, attacher = 0, shim = 0] = await freePorts(7);
  return { folder, ports: { etcd, etcdPeer, api, controllers, scheduler, attacher, shim } };
};

interface Start {
  readonly site: Site;
  readonly identities: Identities;
  readonly guard: Guard;
}

const begin = ({ site, guard }: Start, name: Parameters<typeof startProgram>[0], flags: readonly string[]): Program =>
  startProgram(name, flags, site.folder, guard);

const startApiServer = async (start: Start): Promise<void> => {
  const { site, identities } = start;
  await begin(start, 'etcd', etcdFlags(site)).ready(answersAt(`http://127.0.0.1:${site.ports.etcd}/health`));
  await begin(start, 'kube-apiserver', apiServerFlags(site, identities)).ready(answersAt(`${apiUrl(site)}/readyz`));
};

const startControllers = async (start: Start, ec2: Ec2Access): Promise<void> => {
  const { site, identities } = start;
  const { controllers, scheduler, attacher } = site.ports;
  const shim = begin(start, 'ebs-shim', shimFlags(site, ec2)).ready(async () => (await request(shimUrl(site))).statusCode === 204);
  const started = [
    begin(start, 'kube-controller-manager', controllerFlags(site, identities)).ready(answersAt(`https://127.0.0.1:${controllers}/healthz`)),
    begin(start, 'kube-scheduler', schedulerFlags(site, identities)).ready(answersAt(`https://127.0.0.1:${scheduler}/healthz`)),
    shim.then(() => begin(start, 'csi-attacher', attacherFlags(site, identities)).ready(answersAt(`http://127.0.0.1:${attacher}/metrics`))),
  ];
  await Promise.all(started);
};

/** Whatever goes wrong, nothing is left running; the logs stay. */
const orDismissed = async <T>(guard: Guard, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    await guard.dismiss();
    throw error;
  }
};

const opened = async (startRest: (start: Start) => Promise<void>, prepare: (api: Api) => Promise<void>): Promise<ControlPlane> => {
  const site = await newSite();
  await mkdir(join(site.folder, 'keys'));
  const identities = await makeIdentities(join(site.folder, 'keys'), apiUrl(site));
  const guard = openGuard();
  const start = { site, identities, guard };
  const server = apiUrl(site);
  await orDismissed(guard, async () => {
    await startApiServer(start);
    const api = openApi(server, identities.ca, identities.tokens.admin);
    await Promise.all([startRest(start), prepare(api)]);
    await api.close();
  });
  const { ca, tokens, kubeconfigs } = identities;
  return {
    access: { server, ca, tokens, kubeconfigs, shim: shimUrl(site), folder: site.folder },
    stop: async (folder) => {
      await guard.dismiss();
      if (folder === 'remove') await rm(site.folder, { recursive: true, force: true });
    },
  };
};

/** A whole control plane, with the CSI attacher before EC2; every controller and every timing is Kubernetes' default. */
export const startControlPlane = (ec2: Ec2Access): Promise<ControlPlane> => opened((start) => startControllers(start, ec2), install);

/** etcd and the API server alone: nobody but the test changes anything. */
export const startBareApiServer = (prepare: (api: Api) => Promise<void>): Promise<ControlPlane> => opened(async () => undefined, prepare);
