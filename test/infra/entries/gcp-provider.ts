export { computeClients } from '../../../providers/gcp/client.ts';
export { gcpCloud } from '../../../providers/gcp/index.ts';
