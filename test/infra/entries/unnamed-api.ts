/** A handler's stand-in that uses an API whose models the bundle does not know to keep. */
export { AppsV1Api } from '@kubernetes/client-node/dist/gen/index.js';
