import type { Configuration } from '../../config/schema.ts';
import type { Arn } from './cluster-access.ts';

/** What the functions must be allowed so that they can serve other territories. In another account its role says the rest. */

type Territories = Configuration['territories'];

export const rolesOf = (territories: Territories): readonly string[] => [...new Set(territories.flatMap(({ role }) => role ?? []))];

/** Every volume, or instance, of our own account: in our region, and in those that are served without a role. */
export const resourcesOf = (kind: 'volume' | 'instance', territories: Territories): readonly Arn[] =>
  ['${AWS::Region}', ...territories.flatMap(({ role, region }) => (role === undefined ? [region] : []))].map((region) => ({
    'Fn::Sub': `arn:\${AWS::Partition}:ec2:${region}:\${AWS::AccountId}:${kind}/*`,
  }));
