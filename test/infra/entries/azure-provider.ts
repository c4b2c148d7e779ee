export { azureClients } from '../../../providers/azure/client.ts';
export { azureCloud } from '../../../providers/azure/index.ts';
