import { openCloudServer, type CloudServer, type CloudServerSettings } from '../cloud-server.ts';
import { handleArm } from './arm.ts';
import type { AzureCloudWorld } from './state.ts';

/** Over plain HTTP, without `tls`, the SDK sends no token. */
export interface ArmServerSettings extends CloudServerSettings {
  /** Called for each request before it has any effect, so that the caller can advance virtual time. */
  readonly arrived?: () => void;
}

/** The simulated ARM on 127.0.0.1. */
export const openArmServer = (
  world: AzureCloudWorld,
  { arrived = () => undefined, ...settings }: ArmServerSettings = {},
): Promise<CloudServer> => {
  const scheme = settings.tls ? 'https' : 'http';
  return openCloudServer((request, body) => {
    arrived();
    const url = `${scheme}://${request.headers.host ?? '127.0.0.1'}${request.url ?? '/'}`;
    const { call, answer } = handleArm(world, { method: request.method ?? 'GET', url, body });
    return { call, ...answer };
  }, settings);
};
