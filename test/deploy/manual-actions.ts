import {
  CreateArchiveCommand,
  EventBridgeClient,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { type Incident, objectNameOf, parseIncident } from '../../incidents/incident.ts';
import { createIncidentKeeper } from '../../providers/aws/incidents.ts';
import { accessTo, functionName, STAGE } from './access.ts';

/** What a person, or EC2, does to AWS around Cloudfence. */
export interface ManualActions {
  readonly storeSecret: (name: string, text: string) => Promise<void>;
  readonly storeParameter: (name: string, text: string) => Promise<void>;
  /**
   * Creates an archive of the event bus and gives it to the function replay, because ministack's CloudFormation
   * supports no archives.
   */
  readonly archiveEvents: () => Promise<void>;
  /** The answer of a function, without the time that a command line takes. */
  readonly call: (name: string, event: unknown) => Promise<unknown>;
  /** Puts an event with the source for tests on the event bus. `detail` is a text, so that it may be anything. */
  readonly send: (detailType: string, detail: string) => Promise<void>;
  /** Messages that the queue delays until a time. */
  readonly waitingMessages: () => Promise<number>;
  readonly forgetWaiting: () => Promise<void>;
  /** Removes and returns one dead letter, or undefined. */
  readonly deadLetter: () => Promise<{ readonly body: string; readonly reason: string } | undefined>;
  /** The incident in the bucket of the install, or null. */
  readonly incident: (named: Pick<Incident, 'cluster' | 'node' | 'id'>) => Promise<Incident | null>;
  /** Creates a rule of the user, which sends what Cloudfence puts on the bus into a queue of the user. */
  readonly listen: () => Promise<void>;
  /** Removes and returns what has arrived in that queue. */
  readonly heard: () => Promise<readonly unknown[]>;
}

const QUEUE = `cloudfence-${STAGE}`;

const urlOf = async (queues: SQSClient, QueueName: string) =>
  (await queues.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl;

const delayedIn = async (queues: SQSClient): Promise<number> => {
  const input = {
    QueueUrl: await urlOf(queues, QUEUE),
    AttributeNames: ['ApproximateNumberOfMessagesDelayed' as const],
  };
  return Number(
    (await queues.send(new GetQueueAttributesCommand(input))).Attributes?.['ApproximateNumberOfMessagesDelayed'],
  );
};

const receiveDead = async (queues: SQSClient): ReturnType<ManualActions['deadLetter']> => {
  const QueueUrl = await urlOf(queues, `${QUEUE}-dead-letters`);
  const [letter] =
    (await queues.send(new ReceiveMessageCommand({ QueueUrl, MessageAttributeNames: ['All'] }))).Messages ?? [];
  if (letter) await queues.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: letter.ReceiptHandle }));
  return letter && { body: letter.Body ?? '', reason: letter.MessageAttributes?.['reason']?.StringValue ?? '' };
};

const incidentIn = async (
  endpoint: string,
  lambda: LambdaClient,
  named: Pick<Incident, 'cluster' | 'node' | 'id'>,
): Promise<Incident | null> => {
  const { Environment } = await lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName: functionName('on-event') }),
  );
  const bucket = Environment?.Variables?.['CLOUDFENCE_INCIDENT_BUCKET'] ?? '';
  const { region, credentials } = accessTo(endpoint);
  const { objects } = createIncidentKeeper({ bucket, topic: null }, { region, credentials, endpoint });
  const found = await objects.read(objectNameOf(named), new AbortController().signal);
  return found && parseIncident(found.text);
};

const LISTENER = 'what-cloudfence-tells';

const listening = async (events: EventBridgeClient, queues: SQSClient): Promise<void> => {
  await queues.send(new CreateQueueCommand({ QueueName: LISTENER }));
  await events.send(new PutRuleCommand({ Name: LISTENER, EventPattern: JSON.stringify({ source: ['cloudfence'] }) }));
  const Arn = `arn:aws:sqs:${SANDBOX_REGION}:${SANDBOX_ACCOUNT}:${LISTENER}`;
  await events.send(new PutTargetsCommand({ Rule: LISTENER, Targets: [{ Id: 'queue', Arn }] }));
};

const heardIn = async (queues: SQSClient): Promise<readonly unknown[]> => {
  const QueueUrl = await urlOf(queues, LISTENER);
  const { Messages = [] } = await queues.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
  for (const { ReceiptHandle } of Messages) await queues.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  return Messages.map(({ Body = '' }): unknown => JSON.parse(Body));
};

const called = async (lambda: LambdaClient, name: string, event: unknown): Promise<unknown> => {
  const { Payload } = await lambda.send(
    new InvokeCommand({ FunctionName: functionName(name), Payload: JSON.stringify(event) }),
  );
  const said = Payload?.transformToString() ?? 'null';
  if (said.includes('Worker process died')) throw new Error(`${name} was killed while it ran`);
  return JSON.parse(said);
};

const archived = async (events: EventBridgeClient, lambda: LambdaClient): Promise<void> => {
  const bus = `arn:aws:events:${SANDBOX_REGION}:${SANDBOX_ACCOUNT}:event-bus/default`;
  const { ArchiveArn = '' } = await events.send(
    new CreateArchiveCommand({ ArchiveName: `cloudfence-${STAGE}`, EventSourceArn: bus }),
  );
  const FunctionName = functionName('replay');
  const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
  await lambda.send(
    new UpdateFunctionConfigurationCommand({
      FunctionName,
      Environment: { Variables: { ...Environment?.Variables, CLOUDFENCE_ARCHIVE_ARN: ArchiveArn } },
    }),
  );
};

export const manualActionsAt = (endpoint: string): ManualActions => {
  const access = accessTo(endpoint);
  const [events, queues, secrets] = [
    new EventBridgeClient(access),
    new SQSClient(access),
    new SecretsManagerClient(access),
  ];
  const [parameters, lambda] = [new SSMClient(access), new LambdaClient({ ...access, maxAttempts: 1 })];
  return {
    storeSecret: async (Name, SecretString) =>
      void (await secrets.send(new CreateSecretCommand({ Name, SecretString }))),
    storeParameter: async (Name, Value) =>
      void (await parameters.send(new PutParameterCommand({ Name, Value, Type: 'SecureString' }))),
    archiveEvents: () => archived(events, lambda),
    call: (name, event) => called(lambda, name, event),
    send: async (DetailType, Detail) => {
      const { FailedEntryCount } = await events.send(
        new PutEventsCommand({ Entries: [{ Source: 'cloudfence.test', DetailType, Detail }] }),
      );
      if (FailedEntryCount !== 0) throw new Error(`the event bus refused ${Detail}`);
    },
    waitingMessages: () => delayedIn(queues),
    forgetWaiting: async () =>
      void (await queues.send(new PurgeQueueCommand({ QueueUrl: await urlOf(queues, QUEUE) }))),
    deadLetter: () => receiveDead(queues),
    incident: (named) => incidentIn(endpoint, lambda, named),
    listen: () => listening(events, queues),
    heard: () => heardIn(queues),
  };
};
