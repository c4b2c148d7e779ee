/** A stand-in for a handler that uses an API whose models the bundle does not keep. */
export { NetworkingV1Api } from '@kubernetes/client-node/dist/gen/index.js';
