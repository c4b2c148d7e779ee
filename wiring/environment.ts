/** The only file that reads the environment. The SDKs read their own variables (`AWS_ENDPOINT_URL_EC2` …) themselves. */

export interface Environment {
  /** Path of the configuration file. */
  readonly config: string | null;
  readonly kubeconfig: string | null;
  readonly region: string | null;
  readonly home: string | null;
}

const nonEmpty = (value: string | undefined): string | null => (value === undefined || value === '' ? null : value);

export const readEnvironment = (): Environment => ({
  config: nonEmpty(process.env['CLOUDFENCE_CONFIG']),
  kubeconfig: nonEmpty(process.env['KUBECONFIG']),
  region: nonEmpty(process.env['AWS_REGION']) ?? nonEmpty(process.env['AWS_DEFAULT_REGION']),
  home: nonEmpty(process.env['HOME']),
});
