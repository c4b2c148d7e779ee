/** Names of an install. Each begins with its prefix, `cloudfence-<stage>`, so that stages do not collide. */

export const functionNames = ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'] as const;
export type FunctionName = (typeof functionNames)[number];

interface InstallScope {
  readonly project: string;
  readonly region: string;
  readonly prefix: string;
}

export const resourceNames = ({ project, region, prefix }: InstallScope) => {
  const inProject = `projects/${project}`;
  const inRegion = `${inProject}/locations/${region}`;
  const account = (what: string) => `${prefix}-${what}@${project}.iam.gserviceaccount.com`;
  return {
    project: inProject,
    region: inRegion,
    /**
     * Service accounts: `runner` runs all functions except the doctor, `caller` is the account with which Pub/Sub and
     * Cloud Scheduler call them, `doctor` runs the doctor, and `builder` builds all functions.
     */
    runner: account('run'),
    caller: account('push'),
    doctor: account('read'),
    builder: account('make'),
    roleId: prefix.replaceAll('-', '_'),
    topic: (what: string) => `${inProject}/topics/${prefix}-${what}`,
    subscription: (what: string) => `${inProject}/subscriptions/${prefix}-${what}`,
    /** A bucket's name is unique in all of Google Cloud, so it has the project in it. */
    incidentBucket: `${prefix}-${project}`,
    sink: `${inProject}/sinks/${prefix}-events`,
    metric: (what: string) => `${inProject}/metrics/${prefix}-${what}`,
    job: `${inRegion}/jobs/${prefix}-sweep`,
    functionId: (name: string) => `${prefix}-${name}`,
    function: (name: string) => `${inRegion}/functions/${prefix}-${name}`,
    /** Returns the Cloud Run service of a function. The IAM policy of the service controls who may call it. */
    service: (name: string) => `${inRegion}/services/${prefix}-${name}`,
    /**
     * Returns the address, which is known before the function exists:
     * https://cloud.google.com/functions/docs/calling/http#url
     */
    address: (name: string) => `https://${region}-${project}.cloudfunctions.net/${prefix}-${name}`,
  };
};

export type ResourceNames = ReturnType<typeof resourceNames>;
