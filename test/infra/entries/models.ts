/** A stand-in for a handler, to test which models of the Kubernetes client the bundle keeps. */
export { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
export { ObjectSerializer } from '@kubernetes/client-node/dist/gen/models/ObjectSerializer.js';
