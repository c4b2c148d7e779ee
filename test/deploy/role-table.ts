import {
  asksEveryCluster,
  findsAllWell,
  freesTheDisk,
  givesUpWithAReason,
  looksAgainLater,
  powersOff,
  readsEverything,
  replaysTheArchive,
  type Scenario,
} from './role-scenarios.ts';
import { shippedActions, type ShippedAction } from './shipped-actions.ts';

/** The stories that need an action. The stories of the doctor and of the diagnosis need all of their actions. */
const needing: Readonly<Record<string, readonly Scenario[]>> = {
  'ec2:DescribeInstances': [freesTheDisk],
  'ec2:DescribeVolumes': [freesTheDisk],
  'ec2:DetachVolume': [freesTheDisk],
  'ec2:StopInstances': [powersOff],
  'secretsmanager:GetSecretValue': [freesTheDisk],
  'ssm:GetParameter': [asksEveryCluster],
  'sqs:SendMessage': [looksAgainLater, givesUpWithAReason],
  'events:StartReplay': [replaysTheArchive],
  'lambda:InvokeFunction': [findsAllWell],
};

const byLambda = 'used by Lambda itself in the name of the role, which ministack does not hold to it';
const onlySooner =
  'a message whose return is denied comes back a minute later; roles.deploy.test.ts sees it come back sooner';
const afterwards =
  'a fence does not depend on it; roles.deploy.test.ts sees the object that the whole role writes, and events.deploy.test.ts what it tells';
const noNetwork = 'needed where functions are in a network; ministack has none, and the code is denied it';

/** Actions whose absence no test here can show, with the reason. */
export const notPlayed: Readonly<Record<string, string>> = {
  'logs:CreateLogStream': byLambda,
  'logs:PutLogEvents': byLambda,
  'sqs:ReceiveMessage': byLambda,
  'sqs:DeleteMessage': byLambda,
  'sqs:GetQueueAttributes': byLambda,
  'sqs:ChangeMessageVisibility': onlySooner,
  'sts:AssumeRole':
    "only with other accounts to serve; ministack's credentials of another account mean nothing to the one account of the sandbox",
  'kms:Decrypt': "asked for by Secrets Manager and SSM under a key of one's own, which ministack does not ask",
  's3:GetObject': afterwards,
  's3:PutObject': afterwards,
  's3:ListBucket': afterwards,
  's3:DeleteObject': 'nothing waits for the end of a note; test/contract/incidents and test/functions/watch see it',
  'events:PutEvents': afterwards,
  'sns:Publish': 'only with a topic of the user; test/contract/incidents sends it',
  'eks:DescribeCluster': 'an EKS cluster of ministack is a k3s in a Docker',
  'ec2:CreateNetworkInterface': noNetwork,
  'ec2:DescribeNetworkInterfaces': noNetwork,
  'ec2:DescribeSubnets': noNetwork,
  'ec2:DeleteNetworkInterface': noNetwork,
  'ec2:AssignPrivateIpAddresses': noNetwork,
  'ec2:UnassignPrivateIpAddresses': noNetwork,
};

export const scenariosFor = ({ name, action }: ShippedAction): readonly Scenario[] => {
  const scenarios = Object.hasOwn(needing, action) ? (needing[action] ?? []) : [];
  const own = { doctor: [findsAllWell], diagnose: [readsEverything] }[name];
  return own && scenarios.length > 0 ? own : scenarios;
};

/** Every action of every role that is played, by the story that needs it. */
export const played = (scenario: Scenario): readonly ShippedAction[] =>
  shippedActions.filter((shipped) => scenariosFor(shipped).includes(scenario));

export const namesIn = (shipped: readonly ShippedAction[]): readonly string[] => [
  ...new Set(shipped.map(({ name }) => name)),
];

export const forgotten: readonly ShippedAction[] = shippedActions.filter(
  (shipped) => scenariosFor(shipped).length === 0 && !Object.hasOwn(notPlayed, shipped.action),
);
