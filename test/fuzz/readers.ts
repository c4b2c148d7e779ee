import type { Reader } from './judge.ts';
import { awsFunctionReaders } from './readers/aws-functions.ts';
import { azureFunctionReaders } from './readers/azure-functions.ts';
import { cloudAnswerReaders } from './readers/cloud-answers.ts';
import { clusterAccessReaders } from './readers/cluster-access.ts';
import { commandLineReaders } from './readers/command-line.ts';
import { configurationReaders } from './readers/configuration.ts';
import { controlMapReaders } from './readers/control-maps.ts';
import { environmentReaders } from './readers/environment.ts';
import { eventReaders } from './readers/events.ts';
import { gcpFunctionReaders } from './readers/gcp-functions.ts';
import { kubernetesAnswerReaders } from './readers/kubernetes-answers.ts';

/** Everything that reads what others wrote. */
export const readers: readonly Reader[] = [
  ...eventReaders,
  ...awsFunctionReaders,
  ...azureFunctionReaders,
  ...gcpFunctionReaders,
  ...configurationReaders,
  ...environmentReaders,
  ...clusterAccessReaders,
  ...commandLineReaders,
  ...controlMapReaders,
  ...cloudAnswerReaders,
  ...kubernetesAnswerReaders,
];
