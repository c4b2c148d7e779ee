/** A handler's stand-in, for what the bundle leaves of the Kubernetes client's models. */
export { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
export { ObjectSerializer } from '@kubernetes/client-node/dist/gen/models/ObjectSerializer.js';
