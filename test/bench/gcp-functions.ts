import { stat } from 'node:fs/promises';
import path from 'node:path';
import { functionEnvironment, functionNames } from '../../infra/gcp/install.ts';
import { installWith, plain } from '../infra/gcp/installed.ts';
import { openService, type PackagedService } from '../infra/packaged-service.ts';
import { unzip } from '../infra/unzip.ts';
import type { Deployed } from './deployed.ts';
import type { BenchedCloud } from './functions.ts';
import { openGcpScene } from './gcp-scene.ts';

/** The projects of the sandbox. */
const install = installWith({ project: 'sandbox-project' });

const deployedIn = async (service: PackagedService): Promise<readonly Deployed[]> => {
  const { code, said, folder } = await service.package('prod', '-c', 'serverless.gcp.yml');
  if (code !== 0) throw new Error(said);
  return Promise.all(
    functionNames.map(async (name): Promise<Deployed> => {
      const zip = path.join(folder, `${name}.zip`);
      const unpacked = path.join(folder, `${name}-unpacked`);
      await unzip(zip, unpacked);
      return {
        name,
        zip: (await stat(zip)).size,
        folder: unpacked,
        file: path.join(unpacked, 'index.js'),
        environment: functionEnvironment(install, name),
      };
    }),
  );
};

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** As Cloud Run forwards it. */
const tokenFor = (name: string): string => {
  const claims = {
    iss: 'https://accounts.google.com',
    aud: install.names.address(name),
    email: install.names.caller,
    email_verified: true,
    exp: Math.floor(Date.now() / 1_000) + 3_000,
  };
  return `Bearer ${encoded({ alg: 'RS256' })}.${encoded(claims)}.SIGNATURE_REMOVED_BY_GOOGLE`;
};

const guestTerminate = (resourceName: string) => ({
  protoPayload: { methodName: 'compute.instances.guestTerminate', resourceName },
  operation: { first: true, last: true },
});

/** Returns an entry that passed the log sink, as Pub/Sub pushes it. */
const pushed = (entry: object) => ({
  headers: { authorization: tokenFor('on-event') },
  body: {
    message: { data: Buffer.from(JSON.stringify(entry)).toString('base64'), messageId: '1' },
    subscription: install.names.subscription('events'),
  },
});

const byHand = (instance: string) => ({ headers: {}, body: { instance } });

export const benched: BenchedCloud = {
  title: 'Google Cloud',
  packaged: async () => {
    const service = await openService({ 'prod.gcp': plain });
    return { functions: await deployedIn(service), close: service.close };
  },
  calls: 'http',
  fencing: {
    'on-event': (machine) => pushed(guestTerminate(machine)),
    sweep: () => ({ headers: { authorization: tokenFor('sweep') }, body: {} }),
    replay: byHand,
    fence: byHand,
  },
  openScene: openGcpScene,
  clientAlone: 'test/bench/gcp-client-alone.ts',
  aims: { cloudPart: 1.5, kubernetesPart: 1.9, importMs: 150, rssAfterFence: 130 },
};
