/** Everything that an install makes bears its prefix, `cloudfence-<stage>`, so that stages stand beside each other. */

export const functionNames = ['on-event', 'sweep', 'replay', 'fence', 'doctor'] as const;
export type FunctionName = (typeof functionNames)[number];

interface Place {
  readonly project: string;
  readonly region: string;
  readonly prefix: string;
}

export const names = ({ project, region, prefix }: Place) => {
  const inProject = `projects/${project}`;
  const inRegion = `${inProject}/locations/${region}`;
  const account = (what: string) => `${prefix}-${what}@${project}.iam.gserviceaccount.com`;
  return {
    project: inProject,
    region: inRegion,
    /**
     * What the functions run as but the doctor, what Pub/Sub and Cloud Scheduler call them as, what the doctor runs as,
     * and what all are built as.
     */
    runner: account('run'),
    caller: account('push'),
    doctor: account('read'),
    builder: account('make'),
    roleId: prefix.replaceAll('-', '_'),
    topic: (what: string) => `${inProject}/topics/${prefix}-${what}`,
    subscription: (what: string) => `${inProject}/subscriptions/${prefix}-${what}`,
    sink: `${inProject}/sinks/${prefix}-events`,
    metric: (what: string) => `${inProject}/metrics/${prefix}-${what}`,
    job: `${inRegion}/jobs/${prefix}-sweep`,
    functionId: (name: string) => `${prefix}-${name}`,
    function: (name: string) => `${inRegion}/functions/${prefix}-${name}`,
    /** Of the Cloud Run service below a function, which is where IAM says who may call. */
    service: (name: string) => `${inRegion}/services/${prefix}-${name}`,
    /** Known before the function is: https://cloud.google.com/functions/docs/calling/http#url */
    address: (name: string) => `https://${region}-${project}.cloudfunctions.net/${prefix}-${name}`,
  };
};

export type Names = ReturnType<typeof names>;
