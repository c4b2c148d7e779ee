import { ComputeManagementClient } from '@azure/arm-compute';
import { DefaultAzureCredential } from '@azure/identity';

const endpoint = process.env['CLOUDFENCE_AZURE_ENDPOINT'] ?? '';

/** The least that a call to Azure needs: the client of the SDK, with one token. Nothing of Cloudfence is loaded. */
export const handler = ({ machine }: { readonly machine: string }) => {
  const [, , subscription = '', , group = '', , , , set = '', , instance = ''] = machine.split('/');
  const client = new ComputeManagementClient(new DefaultAzureCredential(), subscription, { endpoint });
  return client.virtualMachineScaleSetVMs.get(group, set, instance);
};
