/**
 * The only file that reads the environment. The SDKs read their own variables (`AWS_ENDPOINT_URL_EC2` …) themselves.
 */

export interface Environment {
  /** Path of the configuration file. */
  readonly config: string | null;
  readonly kubeconfig: string | null;
  readonly region: string | null;
  readonly home: string | null;
}

/** What a deployed function is told by its environment, beside the above. */
export interface FunctionEnvironment {
  /** The configuration itself, as JSON or YAML. */
  readonly settings: string | null;
  readonly region: string | null;
  readonly account: string | null;
  readonly queueUrl: string | null;
  readonly deadLetterQueueUrl: string | null;
  readonly archiveArn: string | null;
  readonly busArn: string | null;
  /** The rules that a replay is meant for: without them it would trigger everybody's. */
  readonly ruleArns: readonly string[];
  /** Of the metrics. */
  readonly namespace: string;
  /** Names of the functions that fence, for the doctor. */
  readonly fencers: readonly string[];
  /** On what the permissions of the role hang, as the parameter says; null where it is unknown. */
  readonly onlyTagged: string | null;
}

/** One variable, for a plugin whose SDK has none of its own. */
export const readVariable = (name: string): string | null => nonEmpty(process.env[name]);

const nonEmpty = (value: string | undefined): string | null => (value === undefined || value === '' ? null : value);

const listed = (value: string | undefined): readonly string[] => (value ?? '').split(',').filter((one) => one !== '');

export const readEnvironment = (): Environment => ({
  config: nonEmpty(process.env['CLOUDFENCE_CONFIG']),
  kubeconfig: nonEmpty(process.env['KUBECONFIG']),
  region: nonEmpty(process.env['AWS_REGION']) ?? nonEmpty(process.env['AWS_DEFAULT_REGION']),
  home: nonEmpty(process.env['HOME']),
});

export const readFunctionEnvironment = (): FunctionEnvironment => ({
  settings: nonEmpty(process.env['CLOUDFENCE_SETTINGS']),
  region: readEnvironment().region,
  account: nonEmpty(process.env['CLOUDFENCE_ACCOUNT']),
  queueUrl: nonEmpty(process.env['CLOUDFENCE_QUEUE_URL']),
  deadLetterQueueUrl: nonEmpty(process.env['CLOUDFENCE_DEAD_LETTER_QUEUE_URL']),
  archiveArn: nonEmpty(process.env['CLOUDFENCE_ARCHIVE_ARN']),
  busArn: nonEmpty(process.env['CLOUDFENCE_BUS_ARN']),
  ruleArns: listed(process.env['CLOUDFENCE_RULE_ARNS']),
  namespace: nonEmpty(process.env['CLOUDFENCE_NAMESPACE']) ?? 'Cloudfence',
  fencers: listed(process.env['CLOUDFENCE_FENCERS']),
  onlyTagged: nonEmpty(process.env['CLOUDFENCE_ONLY_TAGGED']),
});

/** What a function on Google Cloud is told beside `CLOUDFENCE_SETTINGS`. */
export interface GcpFunctionEnvironment {
  /** The project that it is deployed in, and others whose machines are served. */
  readonly projects: readonly string[];
  /** What the tokens of those who push are made for, and as whom they push. */
  readonly audience: string | null;
  readonly caller: string | null;
  /** As whom the function doctor asks, and where: its own account may do nothing but ask. */
  readonly doctor: string | null;
  readonly askedAt: string | null;
  /** Whether this process runs in Cloud Run, and not on somebody's laptop. */
  readonly inCloudRun: boolean;
  /** Where the keys of tokens are had from, when it is not Google's own place. */
  readonly certificatesUrl: string | null;
  /** Whether Cloud Run checks each request before it is handed on. */
  readonly behindCloudRun: boolean;
  /** Full names of topics. */
  readonly againTopic: string | null;
  readonly deadLetterTopic: string | null;
  /** How long the platform lets a request go on (ms). */
  readonly lasts: number;
}

export const readGcpFunctionEnvironment = (): GcpFunctionEnvironment => ({
  projects: listed(process.env['CLOUDFENCE_PROJECTS']),
  audience: nonEmpty(process.env['CLOUDFENCE_AUDIENCE']),
  caller: nonEmpty(process.env['CLOUDFENCE_CALLER']),
  doctor: nonEmpty(process.env['CLOUDFENCE_DOCTOR']),
  askedAt: nonEmpty(process.env['CLOUDFENCE_ASKED_AT']),
  // https://cloud.google.com/run/docs/container-contract#services-env-vars
  inCloudRun: nonEmpty(process.env['K_SERVICE']) !== null,
  certificatesUrl: nonEmpty(process.env['CLOUDFENCE_CERTIFICATES_URL']),
  behindCloudRun: process.env['CLOUDFENCE_BEHIND_CLOUD_RUN'] === 'true',
  againTopic: nonEmpty(process.env['CLOUDFENCE_AGAIN_TOPIC']),
  deadLetterTopic: nonEmpty(process.env['CLOUDFENCE_DEAD_LETTER_TOPIC']),
  lasts: Number(nonEmpty(process.env['CLOUDFENCE_TIMEOUT_SECONDS']) ?? '60') * 1_000,
});

/** What a function on Azure is told beside `CLOUDFENCE_SETTINGS` and its place. */
interface AzureFunctionEnvironment {
  /** Host of the Service Bus namespace; the platform's own trigger reads the same variable. */
  readonly busHost: string | null;
  /** Names of queues. */
  readonly eventsQueue: string | null;
  readonly deadLettersQueue: string | null;
  /** Names of the resource groups whose machines are served; none stands for all that there are. */
  readonly groups: readonly string[];
  /** How long an invocation may go on (ms). */
  readonly lasts: number;
}

export const readAzureFunctionEnvironment = (): AzureFunctionEnvironment => ({
  busHost: nonEmpty(process.env['CLOUDFENCE_BUS__fullyQualifiedNamespace']),
  eventsQueue: nonEmpty(process.env['CLOUDFENCE_EVENTS_QUEUE']),
  deadLettersQueue: nonEmpty(process.env['CLOUDFENCE_DEAD_LETTERS_QUEUE']),
  groups: listed(process.env['CLOUDFENCE_RESOURCE_GROUPS']),
  lasts: Number(nonEmpty(process.env['CLOUDFENCE_TIMEOUT_SECONDS']) ?? '60') * 1_000,
});

/** Lets this process have what a deployed function is given: for a function that is called here instead of there. */
export const liveAsFunction = (variables: Readonly<Record<string, string>>): void =>
  void Object.assign(process.env, variables);
