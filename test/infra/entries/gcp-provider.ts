export { computeClients, gcpCloud } from '../../../providers/gcp/index.ts';
