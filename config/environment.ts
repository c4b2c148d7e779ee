/** Only this file reads the environment. The SDKs read their own variables (`AWS_ENDPOINT_URL_EC2` …) themselves. */

export interface Environment {
  /** Path of the configuration file. */
  readonly config: string | null;
  readonly kubeconfig: string | null;
  readonly region: string | null;
  readonly home: string | null;
}

/** What the environment of a deployed function contains, besides the variables above. */
export interface FunctionEnvironment {
  /** The configuration itself, as JSON or YAML. */
  readonly settings: string | null;
  readonly region: string | null;
  readonly account: string | null;
  readonly queueUrl: string | null;
  readonly deadLetterQueueUrl: string | null;
  readonly archiveArn: string | null;
  readonly busArn: string | null;
  /** The rules that receive a replay. Without them, a replay would trigger everyone's rules. */
  readonly ruleArns: readonly string[];
  /** The namespace of the metrics. */
  readonly namespace: string;
  /** Names of the functions that fence, for the doctor. */
  readonly fencers: readonly string[];
  /** The tags on which the role's permissions depend, as written in the parameter `onlyTagged`; null when unknown. */
  readonly onlyTagged: string | null;
}

/** Reads one variable, for a plugin whose SDK has no variable of its own for the value. */
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

/** What the environment of a function on Google Cloud contains, besides `CLOUDFENCE_SETTINGS`. */
export interface GcpFunctionEnvironment {
  /** The project that the function is deployed in, and other projects whose machines are served. */
  readonly projects: readonly string[];
  /** The audience of the tokens of push requests, and the account that sends those requests. */
  readonly audience: string | null;
  readonly caller: string | null;
  /**
   * The account with which the function doctor sends its questions, and the address that it sends them to. That account
   * has no other permission.
   */
  readonly doctor: string | null;
  readonly askedAt: string | null;
  /** Whether this process runs in Cloud Run, and not on someone's laptop. */
  readonly inCloudRun: boolean;
  /** Where to get the keys that verify tokens, if not from Google's own address. */
  readonly certificatesUrl: string | null;
  /** Whether Cloud Run checks each request before it passes the request on. */
  readonly behindCloudRun: boolean;
  /** Full names of topics. */
  readonly againTopic: string | null;
  readonly deadLetterTopic: string | null;
  /** How long the platform lets a request run, in ms. */
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

/** What the environment of a function on Azure contains, besides `CLOUDFENCE_SETTINGS` and the function's place. */
interface AzureFunctionEnvironment {
  /** Host of the Service Bus namespace. The platform's own trigger reads the same variable. */
  readonly busHost: string | null;
  /** Names of queues. */
  readonly eventsQueue: string | null;
  readonly deadLettersQueue: string | null;
  /** Names of the resource groups whose machines are served. An empty list means all that there are. */
  readonly groups: readonly string[];
  /** How long an invocation may run, in ms. */
  readonly lasts: number;
}

export const readAzureFunctionEnvironment = (): AzureFunctionEnvironment => ({
  busHost: nonEmpty(process.env['CLOUDFENCE_BUS__fullyQualifiedNamespace']),
  eventsQueue: nonEmpty(process.env['CLOUDFENCE_EVENTS_QUEUE']),
  deadLettersQueue: nonEmpty(process.env['CLOUDFENCE_DEAD_LETTERS_QUEUE']),
  groups: listed(process.env['CLOUDFENCE_RESOURCE_GROUPS']),
  lasts: Number(nonEmpty(process.env['CLOUDFENCE_TIMEOUT_SECONDS']) ?? '60') * 1_000,
});

/**
 * Sets the variables of a deployed function in this process, for a function that is called here instead of in the
 * cloud.
 */
export const setFunctionEnvironment = (variables: Readonly<Record<string, string>>): void =>
  void Object.assign(process.env, variables);
