import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PackagedTemplate } from '../packaged-service.ts';
import type { Made } from './made.ts';
import { full } from './stage-files.ts';
import { ofType, roleNames, statementsOf } from './template-reader.ts';

const valuesOf = (template: PackagedTemplate, type: string) => Object.values(ofType(template, type));
const queuePolicy = z.object({
  PolicyDocument: z.object({
    Statement: z.array(
      z.object({ Effect: z.string(), Principal: z.unknown(), Action: z.string(), Condition: z.unknown() }),
    ),
  }),
});

/** Checks what must be true of the packaged template, whatever its parameters, for every resource of a kind. */
export const describeSafeguards = (made: () => Made): void => {
  describe.each(['usual', 'other'] as const)('in the %s template', (which) => {
    it('everything that stores data is encrypted', () => {
      for (const queue of valuesOf(made()[which], 'AWS::SQS::Queue'))
        expect(queue).toMatchObject({ SqsManagedSseEnabled: true });
      const buckets = valuesOf(made()[which], 'AWS::S3::Bucket');
      expect(buckets).toHaveLength(2);
      for (const bucket of buckets) {
        expect(bucket).toMatchObject({
          BucketEncryption: {
            ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
          },
          PublicAccessBlockConfiguration: {
            BlockPublicAcls: true,
            BlockPublicPolicy: true,
            IgnorePublicAcls: true,
            RestrictPublicBuckets: true,
          },
        });
      }
    });

    it('every function has a log group, and every log group has a retention', () => {
      const groups = valuesOf(made()[which], 'AWS::Logs::LogGroup');
      const named = valuesOf(made()[which], 'AWS::Lambda::Function').map(
        ({ FunctionName }) => `/aws/lambda/${String(FunctionName)}`,
      );
      expect(groups.map(({ LogGroupName }) => String(LogGroupName)).toSorted()).toEqual(named.toSorted());
      for (const group of groups)
        expect(group).toMatchObject({ RetentionInDays: which === 'usual' ? 30 : full.logDays });
    });

    it('every queue has a dead-letter queue that keeps messages longer than the queue', () => {
      const queues = ofType(made()[which], 'AWS::SQS::Queue');
      const kept = (name: string): number => Number(queues[name]?.['MessageRetentionPeriod']);
      for (const [name, { RedrivePolicy }] of Object.entries(queues).filter(([name]) => name !== 'DeadLetterQueue')) {
        expect({ name, RedrivePolicy }).toMatchObject({
          RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['DeadLetterQueue', 'Arn'] } },
        });
        expect(kept('DeadLetterQueue')).toBeGreaterThan(kept(name));
      }
    });

    it('everything that arrives by itself has a place for failures: a dead-letter queue or an alarm', () => {
      const byItself = valuesOf(made()[which], 'AWS::Events::Rule').flatMap(({ Targets }) =>
        Array.isArray(Targets) ? Targets : [],
      );
      const toFunctions = byItself.filter((target) => !JSON.stringify(target).includes('DeadLetterConfig'));
      expect(toFunctions).toEqual([expect.objectContaining({ Arn: { 'Fn::GetAtt': ['SweepLambdaFunction', 'Arn'] } })]);
      const neverRepeated = ['SweepLambdaFunction', 'FenceLambdaFunction'].map((Ref) =>
        expect.objectContaining({
          MaximumRetryAttempts: 0,
          MaximumEventAgeInSeconds: 60,
          FunctionName: { Ref },
        }),
      );
      const asynchronous = valuesOf(made()[which], 'AWS::Lambda::EventInvokeConfig');
      expect(asynchronous).toHaveLength(neverRepeated.length);
      expect(asynchronous).toEqual(expect.arrayContaining(neverRepeated));
      expect(Object.keys(ofType(made()[which], 'AWS::CloudWatch::Alarm'))).toEqual(
        expect.arrayContaining(['SweepErrorsAlarm', 'SweepMissingAlarm']),
      );
    });

    it('no action has a wildcard, and a queue policy names everyone only to deny', () => {
      const allowed = roleNames(made()[which]).flatMap((name) =>
        statementsOf(made()[which], name).flatMap(({ Action }) => Action),
      );
      expect(allowed.filter((action) => /[*?]/.test(action))).toEqual([]);
      const onQueues = valuesOf(made()[which], 'AWS::SQS::QueuePolicy').flatMap(
        (policy) => queuePolicy.parse(policy).PolicyDocument.Statement,
      );
      for (const { Effect, Principal, Action, Condition } of onQueues.filter(({ Effect }) => Effect === 'Allow')) {
        expect({ Effect, Principal, Action, Condition }).toMatchObject({
          Principal: { Service: 'events.amazonaws.com' },
          Action: 'sqs:SendMessage',
          Condition: { ArnEquals: { 'aws:SourceArn': expect.anything() } },
        });
      }
      expect(onQueues.filter(({ Effect }) => Effect === 'Allow')).toHaveLength(2);
    });

    it('only the schedule, the queue, and people call a function', () => {
      const callers = valuesOf(made()[which], 'AWS::Lambda::Permission').map(({ Principal }) => Principal);
      expect(callers).toEqual(['events.amazonaws.com']);
      expect(valuesOf(made()[which], 'AWS::Lambda::Url')).toEqual([]);
    });
  });

  it('if only tagged volumes may be detached, no role can detach in another way', () => {
    const condition = { StringEquals: { 'aws:ResourceTag/acme/fence': ['yes'] } };
    const detaching = roleNames(made().other).flatMap((name) =>
      statementsOf(made().other, name).filter(
        ({ Effect, Action }) => Effect === 'Allow' && Action.includes('ec2:DetachVolume'),
      ),
    );
    const onVolumes = detaching.filter(({ Resource }) => Resource.some((arn) => !arn.includes(':instance/')));
    expect(onVolumes).toHaveLength(4);
    for (const { Resource, Condition } of onVolumes)
      expect({ Condition, others: Resource.filter((arn) => !arn.includes(':volume/')) }).toEqual({
        Condition: condition,
        others: [],
      });
  });

  it('roles may send only to the queue and its dead-letter queue', () => {
    const sending = roleNames(made().usual).flatMap((name) =>
      statementsOf(made().usual, name).filter(({ Action }) => Action.includes('sqs:SendMessage')),
    );
    expect(sending.flatMap(({ Resource }) => Resource)).toEqual(['Queue.Arn', 'DeadLetterQueue.Arn']);
  });
};
