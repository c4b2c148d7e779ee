import { z } from 'zod';
import { stackConditions, stackParameters, ref, ifCondition } from './released-parameters.ts';

/**
 * Makes the template of a release from the one that `serverless package` writes for a placeholder stage and region.
 * People who install it give parameters instead of a stage's file, and keep the zips in a bucket of their own.
 */

/**
 * Names that occur nowhere else, so that every text that contains them is found. `serverless` accepts only regions that
 * it knows.
 */
export const PLACEHOLDER = { stage: 'placeholder0', region: 'us-isob-east-1' } as const;

const resource = z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) });
const template = z.looseObject({
  Resources: z.record(z.string(), resource),
  Outputs: z.record(z.string(), z.unknown()).default({}),
});

type Resource = z.infer<typeof resource>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const named = (value: string): string =>
  value.replaceAll(PLACEHOLDER.stage, '${Stage}').replaceAll(PLACEHOLDER.region, '${AWS::Region}');

/** Turns a text with a placeholder into an `Fn::Sub`. A text that is already an `Fn::Sub` keeps its own variables. */
const substituted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(substituted);
  if (isObject(value)) {
    if (typeof value['Fn::Sub'] === 'string') return { 'Fn::Sub': named(value['Fn::Sub']) };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, substituted(inner)]));
  }
  if (typeof value !== 'string' || named(value) === value) return value;
  return { 'Fn::Sub': named(value.replaceAll('${', '${!')) };
};

/** The bucket of `serverless` is left out, because the zips are in an existing bucket. */
const isOfBucket = (name: string): boolean => name.startsWith('ServerlessDeploymentBucket');

const NETWORK = ifCondition('WithNetwork', { SubnetIds: ref('SubnetIds'), SecurityGroupIds: ref('SecurityGroupIds') });

const key = z.object({ S3Key: z.string() });

const inOwnBucket = (one: Resource): Resource => {
  if (one.Type !== 'AWS::Lambda::Function') return one;
  const zip = key.parse(one.Properties['Code']).S3Key.split('/').at(-1) ?? '';
  const Code = { S3Bucket: ref('CodeBucket'), S3Key: { 'Fn::Sub': `\${CodePrefix}${zip}` } };
  return { ...one, Properties: { ...one.Properties, Code, VpcConfig: NETWORK } };
};

const without = <T>(all: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !isOfBucket(name)));

export const releasedStack = (packaged: unknown, version: string): object => {
  const { Resources, Outputs } = template.parse(packaged);
  const resources = Object.fromEntries(
    Object.entries(without(Resources)).map(([name, one]) => [name, substituted(inOwnBucket(one))]),
  );
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Description: `Cloudfence ${version}: fences Kubernetes Nodes whose EC2 instance is proven off`,
    Parameters: stackParameters(version),
    Conditions: stackConditions,
    Resources: resources,
    Outputs: substituted(without(Outputs)),
  };
};
