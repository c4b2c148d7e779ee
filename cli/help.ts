/** The texts after the options in `--help`: examples, the formats of an id, and the exit codes. */

const MACHINES = [
  'A machine is',
  '  i-0123456789abcdef0                                   on AWS',
  '  /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Compute/virtualMachines/<name>   on Azure',
  '  projects/<project>/zones/<zone>/instances/<name>      on Google Cloud',
];

const OUTCOMES = '0 done, or nothing to do; 1 failed; 2 wrong usage; 3 still waiting; 4 refused; 130 Ctrl-C';

/** The exit codes of a command that only succeeds or fails. */
const SIMPLE = '0 done; 1 failed; 2 wrong usage';

const examples: Readonly<Record<string, readonly string[]>> = {
  init: [
    'cloudfence init --dry-run                          # shows the file, and writes nothing',
    'cloudfence init --stage prod --context blue --context green',
    'cloudfence init --for cli -o cloudfence.yml',
  ],
  fence: [
    'cloudfence fence i-0123456789abcdef0 --dry-run     # shows the steps, and changes nothing',
    'cloudfence fence ip-10-0-0-11.ec2.internal         # by the name of a Node',
    'cloudfence fence pod/prod/db-0                     # by a pod that cannot move',
  ],
  replay: ['cloudfence replay event.json', 'aws sqs receive-message --queue-url "$QUEUE" | cloudfence replay -'],
  sweep: ['cloudfence sweep --dry-run', 'cloudfence sweep --json'],
  release: [
    'cloudfence release ip-10-0-0-11.ec2.internal',
    'cloudfence release ip-10-0-0-11.ec2.internal --accept "wiped and reinstalled"',
    'cloudfence release --all --dry-run',
  ],
  diagnose: [
    'cloudfence diagnose                                # every pod that waits for a volume',
    'cloudfence diagnose pod/prod/db-0 --json',
    'cloudfence diagnose vol-0123456789abcdef0',
  ],
  status: ['cloudfence status --watch'],
  doctor: [
    'cloudfence doctor --region eu-west-1',
    'cloudfence doctor --test-event cloudfence-prod     # on AWS, with `incidents` in the configuration',
  ],
  cap: ['cloudfence cap', 'cloudfence cap --override 30m --reason "zone a is lost, checked in the console"'],
  drill: [
    'cloudfence drill --node ip-10-0-0-11.ec2.internal --dry-run',
    'cloudfence drill --node ip-10-0-0-11.ec2.internal --threshold 2m --output drill.md',
  ],
  report: [
    'cloudfence report --from s3://my-bucket --since 7d --output report.html',
    'cloudfence report ip-10-0-0-11.ec2.internal --from gs://my-bucket --output report.html',
    'cloudfence report --from https://myaccount.blob.core.windows.net/incidents --shadow',
    'cloudfence report --from ./incidents               # a folder with a copy',
  ],
  kubeconfig: ['cloudfence kubeconfig --name prod > cloudfence.kubeconfig'],
  demo: ['cloudfence demo', 'cloudfence demo --cloud azure --scenario return'],
  sandbox: ['cloudfence sandbox', 'cloudfence sandbox stop ip-10-0-0-11.eu-west-1.compute.internal'],
  completion: ['source <(cloudfence completion bash)', 'cloudfence completion fish | source'],
};

/** Commands whose targets are machines. */
const aboutMachines: ReadonlySet<string> = new Set(['fence', 'release', 'diagnose', 'report']);

const exitCodes: Readonly<Record<string, string>> = {
  fence: OUTCOMES,
  replay: OUTCOMES,
  sweep: OUTCOMES,
  release: OUTCOMES,
  init: '0 done; 1 no cluster answered; 2 wrong usage, or the file exists, or the Nodes name no machine',
  diagnose:
    '0 no pod waits; 1 no cluster answered; 2 wrong usage; 3 every wait ends by itself or with a fence; ' +
    '4 a person has to act',
  status:
    '0 no Node is fenced; 1 a cluster did not answer; 2 wrong usage; 3 Nodes are fenced; 4 a fence needs a person',
  doctor: '0 ready, also with warnings; 1 not ready; 2 wrong usage',
  drill: '0 passed; 1 failed, or too slow, or not all removed; 2 wrong usage; 4 refused; 130 Ctrl-C',
  demo: '0 ended as expected; 1 did not; 2 wrong usage',
};

/** Returns the text that follows the options of a command. */
export const helpAfter = (command: string): string =>
  [
    ['', 'Examples:', ...(examples[command] ?? []).map((example) => `  ${example}`)],
    aboutMachines.has(command) ? ['', ...MACHINES] : [],
    ['', `Exit codes: ${exitCodes[command] ?? SIMPLE}`],
  ]
    .flat()
    .join('\n');
