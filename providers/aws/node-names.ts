import type { MachineId } from '../../fencing/machine.ts';

/**
 * Names under which the Node of an instance may be registered, likeliest first: its private DNS name, and the
 * resource-based forms. Private zones are `<region>.compute.internal` in every region but us-east-1; `aws-cn` and
 * `aws-us-gov` differ in their public names only. DHCP options with a domain of their own give other names.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-naming.html
 */
export const nodeNamesOf = (machine: MachineId, privateDnsName: string | undefined, region: string): readonly string[] => {
  const names = [privateDnsName?.toLowerCase() ?? '', `${machine}.${region}.compute.internal`, ...eastern(machine, region), machine];
  return [...new Set(names)].filter((name) => name !== '');
};

const eastern = (machine: MachineId, region: string): readonly string[] => (region === 'us-east-1' ? [`${machine}.ec2.internal`] : []);
