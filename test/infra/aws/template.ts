import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { dimensionNames, metricNames } from '../../../functions/metrics.ts';
import { cloudPanels, panels } from '../../../infra/serverless/panels.ts';
import type { PackagedTemplate } from '../packaged-service.ts';
import type { Made } from './made.ts';
import { full } from './stage-files.ts';
import { allowedActions, ofType, propertiesOf, roleNames, statementNamed, statementsOf } from './template-reader.ts';

const names = (template: PackagedTemplate) => Object.keys(template.Resources);
const functionsOf = (template: PackagedTemplate) => Object.entries(ofType(template, 'AWS::Lambda::Function'));
const logs = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const look = ['ec2:DescribeInstances', 'ec2:DescribeVolumes'];
const network = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];
const keeping = ['events:PutEvents', 's3:DeleteObject', 's3:GetObject', 's3:ListBucket', 's3:PutObject'];
const fencing = ['ec2:DetachVolume', ...keeping, ...look, ...logs];

/** Checks each part of the template. */
export const describeTemplate = (made: () => Made): void => {
  describe('the roles', () => {
    const extras: Readonly<Record<string, readonly string[]>> = {
      OnEventRole: [
        'sqs:ChangeMessageVisibility',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'sqs:ReceiveMessage',
        'sqs:SendMessage',
        'ec2:DetachVolume',
        ...keeping,
      ],
      SweepRole: ['ec2:DetachVolume', ...keeping],
      ReplayRole: ['ec2:DetachVolume', 'events:StartReplay', ...keeping],
      FenceRole: ['ec2:DetachVolume', ...keeping],
      DoctorRole: ['lambda:InvokeFunction', 'events:PutEvents', 's3:GetObject', 's3:ListBucket'],
      DiagnoseRole: [],
    };

    it.each(Object.entries(extras))('%s may do exactly what its function calls', (name, extra) => {
      expect(allowedActions(made().usual, name)).toEqual(
        [...look, ...logs, 'secretsmanager:GetSecretValue', ...extra].sort(),
      );
    });

    it('are one for each function', () => {
      const roles = functionsOf(made().usual).map(([, { Role }]) => JSON.stringify(Role));
      expect(new Set(roles).size).toBe(6);
      expect(roles.sort()).toEqual(
        roleNames(made().usual)
          .map((name) => JSON.stringify({ 'Fn::GetAtt': [name, 'Arn'] }))
          .sort(),
      );
    });

    it('may power off, serve territories, read parameters, find EKS, use keys, and join a network by parameter', () => {
      const asked = [
        'ec2:StopInstances',
        'sts:AssumeRole',
        'ssm:GetParameter',
        'eks:DescribeCluster',
        'kms:Decrypt',
        ...network,
      ];
      expect(allowedActions(made().other, 'SweepRole')).toEqual(
        [...fencing, 'secretsmanager:GetSecretValue', 'sns:Publish', ...asked].sort(),
      );
      expect(allowedActions(made().other, 'DoctorRole')).toEqual(
        [
          ...look,
          ...logs,
          'lambda:InvokeFunction',
          'events:PutEvents',
          's3:GetObject',
          's3:ListBucket',
          'secretsmanager:GetSecretValue',
          ...asked.slice(1),
        ].sort(),
      );
    });

    it('name every resource, unless IAM supports none', () => {
      const wide = [made().usual, made().other].flatMap((template) =>
        roleNames(template).flatMap((name) =>
          statementsOf(template, name).filter(({ Resource }) => Resource.includes('*')),
        ),
      );
      expect(new Set(wide.flatMap(({ Action }) => Action))).toEqual(new Set([...look, ...network]));
      const named = [made().usual, made().other].flatMap((template) =>
        roleNames(template).flatMap((name) => statementsOf(template, name).flatMap(({ Resource }) => Resource)),
      );
      const endings = named
        .filter((one) => one.includes('*') && one !== '*')
        .map((one) =>
          one
            .replace(/^arn:\$\{AWS::Partition\}:(\w+):(?:\$\{AWS::Region\}|(eu-west-3)):\$\{AWS::AccountId\}:/, '$1$2 ')
            .replace(/-(prod|full)-.*:/, ':'),
        );
      expect([...new Set(endings)].sort()).toEqual([
        '${IncidentBucket.Arn}/incidents/*',
        '${IncidentBucket.Arn}/notes/*',
        '${IncidentBucket.Arn}/test-events/*',
        'ec2 instance/*',
        'ec2 volume/*',
        'ec2eu-west-3 instance/*',
        'ec2eu-west-3 volume/*',
        'events replay/cloudfence-*',
        'logs log-group:/aws/lambda/cloudfence:*',
      ]);
    });

    it('read exactly the configured secrets, parameters, and clusters', () => {
      expect(statementNamed(made().usual, 'OnEventRole', 'ReadSecretsOfClusters')?.Resource).toEqual([
        'arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:prod-kubeconfig-??????',
      ]);
      expect(statementNamed(made().other, 'OnEventRole', 'ReadSecretsOfClusters')?.Resource).toEqual([
        full.clusters[0]?.secret,
      ]);
      expect(statementNamed(made().other, 'OnEventRole', 'ReadParametersOfClusters')?.Resource).toEqual([
        'arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/cloudfence/b',
      ]);
      expect(statementNamed(made().other, 'OnEventRole', 'FindManagedClusters')?.Resource).toEqual([
        'arn:${AWS::Partition}:eks:eu-central-1:${AWS::AccountId}:cluster/managed',
      ]);
    });

    const tagged = (key: string, ...values: readonly string[]) => ({
      StringEquals: { [`aws:ResourceTag/${key}`]: values },
    });
    const conditionsOf = (template: PackagedTemplate, sid: string) =>
      statementsOf(template, 'FenceRole')
        .filter(({ Sid }) => Sid.startsWith(sid))
        .map(({ Condition }) => Condition);

    it('allow to detach only from instances of the clusters, and only their volumes, unless a tag is set', () => {
      const ofCluster = tagged('kubernetes.io/cluster/prod', 'owned', 'shared');
      expect(conditionsOf(made().usual, 'DetachFromInstances')).toEqual([ofCluster]);
      expect(conditionsOf(made().usual, 'DetachTheseVolumes')).toEqual([
        ofCluster,
        tagged('ebs.csi.aws.com/cluster', 'true'),
      ]);
      for (const sid of ['DetachFromInstances', 'DetachTheseVolumes', 'PowerOff'])
        expect(conditionsOf(made().other, sid)).toEqual([tagged('acme/fence', 'yes')]);
      expect(statementNamed(made().other, 'FenceRole', 'DetachFromInstances')).toMatchObject({
        Resource: [
          expect.stringContaining(':instance/*'),
          expect.stringContaining(':eu-west-3:${AWS::AccountId}:instance/*'),
        ],
      });
    });

    it('of the doctor may call only the other functions of this stage', () => {
      const fencers = ['on-event', 'sweep', 'replay', 'fence'].map((name) => `cloudfence-prod-${name}`);
      const readers = ['cloudfence-prod-diagnose'];
      expect(statementNamed(made().usual, 'DoctorRole', 'AskTheOthers')?.Resource).toEqual(
        [...fencers, ...readers].map(
          (name) => `arn:\${AWS::Partition}:lambda:\${AWS::Region}:\${AWS::AccountId}:function:${name}`,
        ),
      );
      expect(propertiesOf(made().usual, 'DoctorLambdaFunction')).toMatchObject({
        Environment: {
          Variables: {
            CLOUDFENCE_FENCERS: fencers.join(','),
            CLOUDFENCE_READERS: readers.join(','),
            CLOUDFENCE_ONLY_TAGGED: 'cluster',
          },
        },
      });
    });

    it('trust Lambda for this account only, if Lambda names the account', () => {
      for (const name of roleNames(made().usual))
        expect(propertiesOf(made().usual, name)).toMatchObject({
          AssumeRolePolicyDocument: {
            Statement: [{ Condition: { StringEqualsIfExists: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } } }],
          },
        });
    });

    it('may assume exactly the configured roles of the territories', () => {
      for (const name of roleNames(made().other))
        expect(statementNamed(made().other, name, 'ServeOtherTerritories')).toMatchObject({
          Action: ['sts:AssumeRole'],
          Resource: ['arn:aws:iam::222233334444:role/cloudfence-other'],
        });
      for (const name of roleNames(made().usual))
        expect(statementNamed(made().usual, name, 'ServeOtherTerritories')).toBeUndefined();
    });

    it('may decrypt only with the named keys, and only through the services that store the secrets', () => {
      const keys = statementNamed(made().other, 'ReplayRole', 'DecryptThemOnly');
      expect(keys?.Resource).toEqual(full.kmsKeys);
      expect(JSON.stringify(keys?.Condition)).toContain('kms:ViaService');
    });
  });

  describe('the queues', () => {
    it('are encrypted, and each has a dead-letter queue or is one', () => {
      const queues = Object.entries(ofType(made().usual, 'AWS::SQS::Queue'));
      expect(queues).toHaveLength(2);
      for (const [, queue] of queues) expect(queue).toMatchObject({ SqsManagedSseEnabled: true });
      expect(propertiesOf(made().usual, 'Queue')).toMatchObject({
        RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['DeadLetterQueue', 'Arn'] }, maxReceiveCount: 10 },
      });
    });

    it.each([
      ['usual', 60],
      ['other', 120],
    ])('hide a message for six times as long as a function may take (%s)', (which, timeout) => {
      const template = which === 'usual' ? made().usual : made().other;
      for (const [, { Timeout }] of functionsOf(template)) expect(Timeout).toBe(timeout);
      expect(propertiesOf(template, 'Queue')['VisibilityTimeout']).toBe(6 * timeout);
    });

    it('send batches of ten to on-event, and accept failures one by one', () => {
      expect(propertiesOf(made().usual, 'OnDasheventEventSourceMappingSQSQueue')).toMatchObject({
        BatchSize: 10,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: 5 },
      });
      expect(propertiesOf(made().other, 'OnDasheventEventSourceMappingSQSQueue')).toMatchObject({
        ScalingConfig: { MaximumConcurrency: 9 },
      });
    });

    it('may get messages from on-event itself, which Lambda would stop as an endless loop', () => {
      const allowed = functionsOf(made().usual).filter(([, { RecursiveLoop }]) => RecursiveLoop === 'Allow');
      expect(allowed.map(([name]) => name)).toEqual(['OnDasheventLambdaFunction']);
    });

    it('accept only events from our rules', () => {
      const rules = Object.entries(ofType(made().usual, 'AWS::Events::Rule')).filter(
        ([name]) => !name.startsWith('Sweep'),
      );
      for (const policy of Object.values(ofType(made().usual, 'AWS::SQS::QueuePolicy'))) {
        const said = JSON.stringify(policy);
        for (const [, { Name }] of rules) expect(said).toContain(`:rule/${String(Name)}"`);
        expect(said).toContain('"aws:SecureTransport":"false"');
      }
    });
  });

  describe('the rules', () => {
    it('deliver every state change, and each hint that is turned on', () => {
      expect(propertiesOf(made().usual, 'StateChangeRule')).toMatchObject({
        EventPattern: { source: ['aws.ec2'], 'detail-type': ['EC2 Instance State-change Notification'] },
      });
      const hints = ['SpotInterruptionRule', 'RebalanceRecommendationRule', 'AutoScalingRule', 'HealthRule'];
      expect(names(made().usual)).toEqual(expect.arrayContaining(hints));
      for (const hint of hints) expect(names(made().other)).not.toContain(hint);
      expect(names(made().usual)).not.toContain('CloudTrailRule');
      expect(names(made().other)).toContain('CloudTrailRule');
    });

    it('deliver what another account or region forwards, with that account and region in the envelope', () => {
      for (const [name, { EventPattern }] of Object.entries(ofType(made().usual, 'AWS::Events::Rule')).filter(
        ([name]) => !name.startsWith('Sweep'),
      )) {
        expect({ name, EventPattern }).toMatchObject({ EventPattern: { source: expect.any(Array) } });
        expect({ name, EventPattern }).not.toMatchObject({ EventPattern: { account: expect.anything() } });
        expect({ name, EventPattern }).not.toMatchObject({ EventPattern: { region: expect.anything() } });
      }
    });

    it('retry for an hour, and then keep the event as a dead letter', () => {
      for (const [name, { Targets }] of Object.entries(ofType(made().usual, 'AWS::Events::Rule')).filter(
        ([name]) => !name.startsWith('Sweep'),
      )) {
        expect({ name, Targets }).toMatchObject({
          Targets: [
            {
              Arn: { 'Fn::GetAtt': ['Queue', 'Arn'] },
              DeadLetterConfig: { Arn: { 'Fn::GetAtt': ['DeadLetterQueue', 'Arn'] } },
              RetryPolicy: { MaximumEventAgeInSeconds: 3600 },
            },
          ],
        });
      }
    });
  });

  describe('logs and alarms', () => {
    it('each function has a log group with a retention', () => {
      const groups = Object.values(ofType(made().usual, 'AWS::Logs::LogGroup'));
      expect(groups.map(({ LogGroupName }) => String(LogGroupName)).toSorted()).toEqual(
        ['diagnose', 'doctor', 'fence', 'on-event', 'replay', 'sweep'].map(
          (name) => `/aws/lambda/cloudfence-prod-${name}`,
        ),
      );
      for (const group of groups) expect(group).toMatchObject({ RetentionInDays: 30 });
    });

    it('alarms notify the topic, if there is one', () => {
      expect(Object.keys(ofType(made().usual, 'AWS::CloudWatch::Alarm'))).toHaveLength(15);
      for (const alarm of Object.values(ofType(made().usual, 'AWS::CloudWatch::Alarm')))
        expect(alarm).toMatchObject({ AlarmActions: [], OKActions: [] });
      for (const alarm of Object.values(ofType(made().other, 'AWS::CloudWatch::Alarm')))
        expect(alarm).toMatchObject({ AlarmActions: [full.alarmTopic], OKActions: [full.alarmTopic] });
    });

    it('an alarm watches a dead node for five minutes, with the name of the functions’ metric', () => {
      expect(propertiesOf(made().usual, 'DeadNodeUnfencedAlarm')).toMatchObject({
        Namespace: 'Cloudfence/prod',
        MetricName: metricNames.deadNodeUnfenced,
        Period: 60,
        EvaluationPeriods: 5,
        Threshold: 0,
      });
      expect(propertiesOf(made().other, 'DeadNodeUnfencedAlarm')).toMatchObject({ Period: 180, EvaluationPeriods: 2 });
      expect(propertiesOf(made().usual, 'CapReachedAlarm')).toMatchObject({
        Namespace: 'Cloudfence/prod',
        MetricName: metricNames.capReached,
        Statistic: 'Sum',
        Threshold: 0,
        TreatMissingData: 'notBreaching',
      });
      expect(propertiesOf(made().usual, 'ClusterUnreachableAlarm')).toMatchObject({
        Namespace: 'Cloudfence/prod',
        MetricName: metricNames.clusterUnreachable,
        Statistic: 'Sum',
        Threshold: 0,
        TreatMissingData: 'notBreaching',
      });
      for (const alarm of ['CapReachedAlarm', 'ClusterUnreachableAlarm']) {
        const inTurn = { DatapointsToAlarm: 1 };
        expect(propertiesOf(made().usual, alarm)).toMatchObject({ Period: 60, EvaluationPeriods: 5, ...inTurn });
        expect(propertiesOf(made().other, alarm)).toMatchObject({ Period: 180, EvaluationPeriods: 3, ...inTurn });
      }
      expect(propertiesOf(made().usual, 'FailuresAlarm')).toMatchObject({
        MetricName: metricNames.outcomes,
        Dimensions: [{ Name: dimensionNames.outcome, Value: 'failed' }],
        Threshold: 0,
        ComparisonOperator: 'GreaterThanThreshold',
      });
      for (const [alarm, metric] of [
        ['FencedForADayAlarm', metricNames.fencedForADay],
        ['ReleaseOverdueAlarm', metricNames.releaseOverdue],
        ['StoppingTooLongAlarm', metricNames.stoppingTooLong],
      ] as const)
        expect(propertiesOf(made().usual, alarm)).toMatchObject({
          Namespace: 'Cloudfence/prod',
          MetricName: metric,
          Period: 60,
          EvaluationPeriods: 3,
          DatapointsToAlarm: 1,
          Threshold: 0,
        });
      for (const { Dimensions } of [
        propertiesOf(made().usual, 'DeadNodeUnfencedAlarm'),
        propertiesOf(made().usual, 'CapReachedAlarm'),
      ])
        expect(Dimensions).toBeUndefined();
      const body = JSON.stringify(propertiesOf(made().usual, 'Dashboard')['DashboardBody']);
      for (const name of Object.values(metricNames).filter((one) => one !== metricNames.refusals))
        expect(body).toContain(name);
      for (const title of [...panels.map((panel) => panel.title), ...Object.values(cloudPanels)])
        expect(body).toContain(title);
    });
  });

  describe('the package', () => {
    it('has the same bytes when it is built again', async () => {
      const again = await made().service.package('prod', '--region', 'eu-west-1');
      const zips = (await readdir(made().packaged.folder)).filter((file) => file.endsWith('.zip'));
      expect(zips.sort()).toEqual([
        'diagnose.zip',
        'doctor.zip',
        'fence.zip',
        'on-event.zip',
        'replay.zip',
        'sweep.zip',
      ]);
      for (const zip of zips)
        expect(await readFile(path.join(again.folder, zip))).toEqual(
          await readFile(path.join(made().packaged.folder, zip)),
        );
    });

    it('is for the region of its stage', () => {
      expect(JSON.stringify(made().other)).toContain(`cloudfence-full-${full.region}-on-event`);
    });

    it('separates stages by name', () => {
      const called = (template: PackagedTemplate) =>
        JSON.stringify(template).match(/cloudfence-(prod|full)[\w-]*/g) ?? [];
      expect(called(made().usual).filter((name) => name.includes('full'))).toEqual([]);
      expect(called(made().other).filter((name) => name.includes('prod'))).toEqual([]);
    });

    it('has the cloud and the Kubernetes client in separate files, and loads the second only if needed', async () => {
      for (const name of ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose']) {
        const folder = path.join(made().service.folder, 'dist/functions', name);
        const parts = await Promise.all(
          (await readdir(folder)).map(async (file) => ({
            file,
            text: await readFile(path.join(folder, file), 'utf8'),
          })),
        );
        const bytes = (ofKubernetes: boolean) =>
          parts
            .filter(({ file }) => file.startsWith('connect-cluster-') === ofKubernetes)
            .reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
        expect({ name, kubernetes: bytes(true) }).toEqual({
          name,
          kubernetes: expect.toSatisfy((size: number) => size > 500_000 && size <= 1_900_000),
        });
        expect({ name, cloud: bytes(false) }).toEqual({
          name,
          cloud: expect.toSatisfy((size: number) => size > 100_000 && size <= 1_650_000),
        });
        expect(parts.find(({ file }) => file === 'package.json')?.text).toBe('{"type":"commonjs"}\n');
        expect(parts.filter(({ text }) => /@azure|@google-cloud/.test(text)).map(({ file }) => file)).toEqual([]);
      }
    });
  });
};
