import { openService } from '../infra/packaged-service.ts';
import { deployedFunctions } from './deployed.ts';
import { openAwsScene } from './aws-scene.ts';
import type { BenchedCloud } from './functions.ts';

export const benched: BenchedCloud = {
  title: 'AWS',
  packaged: async () => {
    const service = await openService({});
    return {
      functions: await deployedFunctions(service, ['on-event', 'sweep', 'replay', 'fence', 'doctor']),
      close: service.close,
    };
  },
  calls: 'lambda',
  fencing: {
    'on-event': (machine) => ({
      source: 'aws.ec2',
      'detail-type': 'EC2 Instance State-change Notification',
      detail: { 'instance-id': machine, state: 'stopped' },
    }),
    sweep: () => ({}),
    replay: (instanceId) => ({ instanceId }),
    fence: (instanceId) => ({ instanceId }),
  },
  openScene: openAwsScene,
  clientAlone: 'test/bench/aws-client-alone.ts',
  aims: { cloudPart: 1.5, kubernetesPart: 1.9, importMs: 100, rssAfterFence: 100 },
};
