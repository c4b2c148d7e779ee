/** Two stages for the template tests: the defaults, and one that sets every parameter. */

export const plain = { clusters: [{ name: 'prod', secret: 'prod-kubeconfig' }] };

export const full = {
  region: 'eu-west-1',
  clusters: [
    { name: 'a', secret: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:other/name-a1B2c3', context: 'admin' },
    { name: 'b', parameter: '/cloudfence/b' },
    { name: 'c', eks: { cluster: 'managed', region: 'eu-central-1' } },
  ],
  territories: [
    {
      account: '222233334444',
      region: 'eu-central-1',
      role: 'arn:aws:iam::222233334444:role/cloudfence-other',
      externalId: 'from-prod',
    },
    { account: '222233334444', region: 'eu-north-1', role: 'arn:aws:iam::222233334444:role/cloudfence-other' },
    { account: '111122223333', region: 'eu-west-3' },
  ],
  policy: { unreachable: 'power-off', fenceAfter: '30s' },
  pause: 'upgrade until Friday',
  shadow: true,
  spotInterruption: false,
  rebalanceRecommendation: false,
  autoScaling: false,
  health: false,
  cloudTrail: true,
  testSource: 'acme.test',
  archiveDays: 0,
  sweepEvery: '3m',
  sweepAlone: true,
  maximumConcurrency: 9,
  timeout: '2m',
  memory: 512,
  architecture: 'x86_64',
  logDays: 7,
  metricsNamespace: 'Acme/Fences',
  onlyTagged: 'acme/fence=yes',
  onlyTls: false,
  kmsKeys: ['arn:aws:kms:eu-west-1:111122223333:key/0a1b2c3d-0000-4000-8000-000000000000'],
  alarmTopic: 'arn:aws:sns:eu-west-1:111122223333:pager',
  oldestMessage: '5m',
  dashboard: false,
  subnets: ['subnet-0000000a', 'subnet-0000000b'],
  securityGroups: ['sg-0000000a'],
  ec2Endpoint: 'https://vpce-1.ec2.eu-west-1.vpce.amazonaws.com',
};
