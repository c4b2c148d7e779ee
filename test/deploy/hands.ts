import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand, GetQueueUrlCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';

/** What a person, or EC2, does to AWS around Cloudfence. */
export interface Hands {
  readonly storeSecret: (name: string, text: string) => Promise<void>;
  /** Puts an event of the source for tests on the event bus; `detail` as text, so that it may be any. */
  readonly send: (detailType: string, detail: string) => Promise<void>;
  /** Messages that the queue holds back until a time. */
  readonly waitingMessages: () => Promise<number>;
  /** One dead letter, or undefined. */
  readonly deadLetter: () => Promise<{ readonly body: string; readonly reason: string } | undefined>;
  /** Takes the policy out of the role of a function. */
  readonly dropPolicy: (name: string) => Promise<void>;
}

const QUEUE = 'cloudfence-ministack';

const urlOf = async (queues: SQSClient, QueueName: string) => (await queues.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl;

const delayedIn = async (queues: SQSClient): Promise<number> => {
  const input = { QueueUrl: await urlOf(queues, QUEUE), AttributeNames: ['ApproximateNumberOfMessagesDelayed' as const] };
  return Number((await queues.send(new GetQueueAttributesCommand(input))).Attributes?.['ApproximateNumberOfMessagesDelayed']);
};

const receiveDead = async (queues: SQSClient): ReturnType<Hands['deadLetter']> => {
  const input = { QueueUrl: await urlOf(queues, `${QUEUE}-dead-letters`), MessageAttributeNames: ['All'] };
  const [letter] = (await queues.send(new ReceiveMessageCommand(input))).Messages ?? [];
  return letter && { body: letter.Body ?? '', reason: letter.MessageAttributes?.['reason']?.StringValue ?? '' };
};

/** https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRolePolicy.html; ministack reads the account and the service from the scope. */
const deleteRolePolicy = async (endpoint: string, name: string): Promise<void> => {
  const scope = `AWS4-HMAC-SHA256 Credential=${SANDBOX_ACCOUNT}/20260101/${SANDBOX_REGION}/iam/aws4_request, SignedHeaders=host, Signature=0`;
  const body = new URLSearchParams({ Action: 'DeleteRolePolicy', Version: '2010-05-08', RoleName: `${QUEUE}-${SANDBOX_REGION}-${name}`, PolicyName: name });
  const response = await fetch(endpoint, { method: 'POST', headers: { authorization: scope }, body });
  if (!response.ok) throw new Error(`the policy of ${name} stays: ${await response.text()}`);
};

export const handsOn = (endpoint: string): Hands => {
  const access = { endpoint, region: SANDBOX_REGION, credentials: { accessKeyId: SANDBOX_ACCOUNT, secretAccessKey: 'test' } };
  const [events, queues, secrets] = [new EventBridgeClient(access), new SQSClient(access), new SecretsManagerClient(access)];
  return {
    storeSecret: async (Name, SecretString) => void (await secrets.send(new CreateSecretCommand({ Name, SecretString }))),
    send: async (DetailType, Detail) => {
      const { FailedEntryCount } = await events.send(new PutEventsCommand({ Entries: [{ Source: 'cloudfence.test', DetailType, Detail }] }));
      if (FailedEntryCount !== 0) throw new Error(`the event bus refused ${Detail}`);
    },
    waitingMessages: () => delayedIn(queues),
    deadLetter: () => receiveDead(queues),
    dropPolicy: (name) => deleteRolePolicy(endpoint, name),
  };
};
