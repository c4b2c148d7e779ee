import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { startMachine, stopMachine } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { loadedBy } from './loaded-sdks.ts';
import { holderStopped, openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli, startCli } from './run-cli.ts';

/**
 * The CLI with real SDKs and real HTTP. Most commands run in this process, with the clock of the sandbox. Tests that
 * need a process start the CLI as a person does (`startCli`): the built files, standard input, exit codes, and a world
 * in real time.
 */

let sandbox: LiveSandbox;
beforeEach(async () => {
  sandbox = await openLiveSandbox(holderStopped);
});
afterEach(() => sandbox.close());

const cli = (...args: string[]) => runCli(args, sandbox);
const node = () => sandbox.scene.nodeOf(sandbox.scene.holder);
const movedAway = () => expect.arrayContaining([`${sandbox.scene.volume} at ${sandbox.scene.spare} attached`]);
const fencedNode = () => expect.arrayContaining([`${node()} [cloudfence.dev/quarantine] fenced labelled`]);
const event = (change: object) => ({
  version: '0',
  id: 'e-1',
  'detail-type': 'EC2 Instance State-change Notification',
  source: 'aws.ec2',
  account: '111122223333',
  time: '2026-01-01T00:00:00Z',
  region: 'eu-west-1',
  resources: [],
  detail: { 'instance-id': sandbox.scene.holder, state: 'STOPPED' },
  ...change,
});

describe('fence', () => {
  it('by instance id prints exactly one JSON object and exits 0', async () => {
    const { code, stdout } = await cli('fence', sandbox.scene.holder, '--json');
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    const answer: unknown = JSON.parse(stdout);
    expect(answer).toMatchObject({
      outcome: 'fenced',
      cluster: 'default',
      node: node(),
      instance: sandbox.scene.holder,
      mode: 'taint',
      dryRun: false,
      evidence: { state: 'stopped' },
    });
    expect(answer).toMatchObject({
      steps: [
        { step: 'mark', result: 'done' },
        { step: 'delete-pod', target: 'pod/default/db-0', result: 'done' },
        { step: 'park', result: 'done' },
      ],
    });
    expect(Object.keys(answer ?? {})).toEqual([
      'outcome',
      'reason',
      'cluster',
      'node',
      'instance',
      'mode',
      'dryRun',
      'evidence',
      'steps',
      'left',
    ]);
    expect(stateOf(sandbox.world)).toMatchObject({ nodes: fencedNode(), violations: [] });
  });

  it('by Node name prints words, and has nothing left to do the second time', async () => {
    expect(await cli('fence', node())).toMatchObject({ code: 0, stdout: expect.stringContaining('mark') });
    const again = await cli('fence', node());
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('holds no volume any more') });
    expect(again.stdout).not.toContain('delete-pod');
  });

  it('in a dry run says what it would do, and does nothing', async () => {
    const before = sandbox.world.parts.cluster.audit.filter(({ user }) => user === 'kubernetes-admin').length;
    const { code, stdout } = await cli('fence', sandbox.scene.holder, '--dry-run', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'would-fence',
      dryRun: true,
      steps: [
        { step: 'mark', result: 'dry-run' },
        { step: 'delete-pod', result: 'dry-run' },
      ],
    });
    expect(sandbox.world.parts.cluster.audit.filter(({ user }) => user === 'kubernetes-admin')).toHaveLength(before);
  });

  it('does not touch a running machine, and exits 0', async () => {
    const { code, stdout } = await cli('fence', sandbox.scene.spare, '--json');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'ignored', steps: [] });
  });

  it('exits 4 with the reason in words when it refuses', async () => {
    const shelf = sandbox.world.parts.cluster.objects.nodes;
    for (const standing of Object.values(shelf))
      standing.metadata.annotations = {
        ...standing.metadata.annotations,
        'cloudfence.dev/opt-out': 'licence bound to the host',
      };
    expect(await startCli(['fence', sandbox.scene.holder], sandbox)).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('licence bound to the host'),
    });
  });

  it('exits 3 if it still waits at the timeout', async () => {
    stopMachine(sandbox.world, sandbox.scene.spare);
    expect(await cli('fence', sandbox.scene.spare, '--timeout', '1s')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('may still write'),
    });
  });

  it('exits 1 if the cloud gives no answer', async () => {
    const answer = await runCli(['fence', sandbox.scene.holder, '--timeout', '2s'], sandbox, {
      environment: { AWS_ENDPOINT_URL_EC2: 'http://127.0.0.1:9' },
    });
    expect(answer.code).toBe(1);
  });
});

describe('usage and configuration', () => {
  it.each([
    [['fence'], /missing required argument/],
    [['fence', 'no-such-node'], /neither an instance id nor a Node/],
    [['fence', 'i-0123456789abcdef0', '--timeout', 'soon'], /such as 90s/],
    [['fence', 'i-0123456789abcdef0', '--cloud', 'sky'], /"sky" is not a supported cloud/],
    [
      ['fence', 'i-0123456789abcdef0', '--kubeconfig', '/nowhere'],
      /no kubeconfig exists at \/nowhere: give --kubeconfig, set KUBECONFIG/,
    ],
    [['frobnicate'], /unknown command 'frobnicate'\nAdd --help to see/],
    [['release'], /name a Node, or give --all/],
    [['release', 'node-1', '--all'], /not both/],
    [['release', 'node-1', '--accept', ''], /--accept requires a reason/],
  ])('%j exits 2 with one clear sentence', async (args, sentence) => {
    const { code, stderr, stdout } = await cli(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(sentence);
  });

  it('Cloudfence does not look for a machine of EC2 if no region is set', async () => {
    const answer = await runCli(['fence', sandbox.scene.holder], sandbox, { environment: { AWS_REGION: '' } });
    expect(answer).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('no region is set: give --region'),
    });
  });

  it('says that no cloud understands an event', async () => {
    const { code, stderr } = await runCli(['replay', '-'], sandbox, { stdin: '{"weather":"fine"}' });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('this is not an event that Cloudfence supports; send an EventBridge event'),
    });
  });

  it('with --json, even an error is exactly one object', async () => {
    const { code, stdout } = await startCli(['fence', 'no-such-node', '--json'], sandbox);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 2,
      outcome: 'failed',
      reason: expect.stringMatching(/^invalid: "no-such-node"/),
    });
  });

  it('a broken configuration file is rejected with all its faults at once', async () => {
    const file = path.join(sandbox.folder, 'config.yaml');
    await writeFile(
      file,
      'pollcy: {}\npolicy: { detach: sometimes, fenceAfter: soon, cap: { nodes: 3 } }\nclusters: [{ name: a, kubeconfig: x }, { name: a, kubeconfig: y }]\n',
    );
    const { code, stderr } = await cli('sweep', '--config', file);
    expect(code).toBe(2);
    for (const fault of ['pollcy', 'policy.detach', '"soon" is not a duration', 'policy.cap.nodes'])
      expect(stderr).toContain(fault);
  });
});

describe('replay', () => {
  it('reads an event from a file', async () => {
    const file = path.join(sandbox.folder, 'event.json');
    await writeFile(file, JSON.stringify(event({})));
    const { code, stdout } = await cli('replay', file, '--json');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      outcome: 'fenced',
      instance: sandbox.scene.holder,
    });
    await expect.poll(() => stateOf(sandbox.world).disks, { timeout: 15_000 }).toEqual(movedAway());
  });

  it('reads a whole SQS batch from standard input and handles each machine once', async () => {
    const Records = [
      event({}),
      event({}),
      event({ detail: { 'instance-id': sandbox.scene.spare, state: 'running' } }),
    ].map((body, at) => ({ messageId: `m-${at}`, body: JSON.stringify(body) }));
    const { code, stdout } = await startCli(['replay', '-', '--json'], sandbox, { stdin: JSON.stringify({ Records }) });
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      results: [{ outcome: 'fenced' }, { outcome: 'ignored', instance: sandbox.scene.spare }],
    });
  });

  it('names what it cannot read, and does nothing at all', async () => {
    const batch = [
      event({}),
      { 'detail-type': 'EC2 Instance State-change Notification', detail: { 'instance-id': 'i-XYZ' } },
    ];
    const answer = await runCli(['replay', '-'], sandbox, { stdin: JSON.stringify(batch) });
    expect(answer).toMatchObject({ code: 2, stderr: expect.stringMatching(/\$\[1\].*instance-id/) });
    expect(stateOf(sandbox.world).nodes).not.toEqual(fencedNode());
  });

  it('recognizes a dry run in the event itself, as the function does', async () => {
    const wanted = (dryRun: unknown) =>
      runCli(['replay', '-', '--json'], sandbox, {
        stdin: JSON.stringify({ instanceId: sandbox.scene.holder, dryRun }),
      });
    const { code, stdout } = await wanted(true);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'would-fence', dryRun: true });
    expect(await wanted('yes')).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/`dryRun` is neither true nor false/),
    });
    expect(stateOf(sandbox.world).nodes.filter((node) => node.includes('quarantine'))).toEqual([]);
  });
});

describe('a name that leads to a machine', () => {
  it('fence accepts a pod, and release the claim that the record names', async () => {
    const fenced = await cli('fence', 'pod/default/db-0', '--json');
    expect([fenced.code, JSON.parse(fenced.stdout)]).toMatchObject([0, { outcome: 'fenced', node: node() }]);
    expect(fenced.stderr).toBe(
      `pod/default/db-0 leads to ${sandbox.scene.holder} on Node ${node()} in cluster default\n`,
    );
    const released = await cli('release', 'pvc/default/data-db-0');
    expect(released).toMatchObject({ code: 4, stdout: expect.stringContaining('still-off') });
    expect(stateOf(sandbox.world).nodes).toEqual(fencedNode());
  });
});

describe('sweep and release', () => {
  it('sweep finds a machine whose events were lost, and releases one that has come back', async () => {
    const found = await cli('sweep', '--json');
    expect({ code: found.code, ...JSON.parse(found.stdout) }).toMatchObject({
      code: 0,
      results: [{ outcome: 'fenced', node: node() }],
    });
    expect(await cli('release', node())).toMatchObject({ code: 4, stdout: expect.stringContaining('--accept') });
    expect(await cli('sweep', '--json')).toMatchObject({ code: 0, stdout: '{"results":[]}\n' });
    sandbox.world.parts.ec2.knobs.bootTakes = 500;
    startMachine(sandbox.world, sandbox.scene.holder);
    const answer = await cli('release', node(), '--json', '--timeout', '60s');
    expect({ code: answer.code, ...JSON.parse(answer.stdout) }).toMatchObject({
      code: 0,
      outcome: 'released',
      steps: [{ step: 'release-node', result: 'done' }],
    });
    expect(stateOf(sandbox.world).nodes).toContain(`${node()} []`);
  });

  it('release ends a fence that a person confirms', async () => {
    await cli('fence', node());
    const answer = await cli('release', '--all', '--accept', 'console checked', '--json', '--timeout', '3s');
    expect(JSON.parse(answer.stdout)).toMatchObject({
      results: [
        {
          outcome: 'waiting',
          reason: expect.stringContaining('controllers-settling'),
          steps: [{ step: 'lift-out-of-service', result: 'done' }],
        },
      ],
    });
  });

  it('release --all reports a fenced Node on which nothing names its machine any more', async () => {
    await cli('fence', node());
    const standing = sandbox.world.parts.cluster.objects.nodes[`/${node()}`];
    delete standing?.spec.providerID;
    delete standing?.metadata.annotations?.['csi.volume.kubernetes.io/nodeid'];
    delete sandbox.world.parts.cluster.objects.csinodes[`/${node()}`];
    const { code, stdout } = await cli('release', '--all', '--accept', 'console checked', '--json', '--timeout', '60s');
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { results: [{ outcome: 'failed', node: node(), reason: expect.stringContaining('run cloudfence doctor') }] },
    ]);
    expect(stateOf(sandbox.world).nodes.filter((one) => one.includes('quarantine'))).toHaveLength(1);
  });

  it('release --all continues if a record cannot be read, and reports that', async () => {
    const label = { 'cloudfence.node-restriction.kubernetes.io/fenced': 'true' };
    for (const standing of Object.values(sandbox.world.parts.cluster.objects.nodes)) {
      standing.metadata.labels = { ...standing.metadata.labels, ...label };
      standing.metadata.annotations = { ...standing.metadata.annotations, 'cloudfence.dev/fence': 'garbled' };
      if (standing.metadata.name !== node()) continue;
      delete standing.spec.providerID;
      standing.metadata.annotations = { 'cloudfence.dev/fence': 'garbled' };
      delete sandbox.world.parts.cluster.objects.csinodes[`/${node()}`];
    }
    const { stdout } = await cli('release', '--all', '--json', '--timeout', '3s');
    const { results }: { results: readonly { node: string; instance: string }[] } = JSON.parse(stdout);
    expect(results).toHaveLength(Object.keys(sandbox.world.parts.cluster.objects.nodes).length);
    expect(results.map(({ instance }) => instance)).toContain(sandbox.scene.spare);
    expect(results.map((result) => result.node)).toContain(node());
  });
});

it('doctor says in words what would work and what would not', async () => {
  const well = await cli('doctor');
  expect(well).toMatchObject({ code: 0, stdout: expect.stringContaining('supports the out-of-service taint') });
  expect(well.stdout).toMatch(
    /^ok {4}aws: may detach disks {2}— EC2 would allow ec2:DetachVolume; tried on vol-\w+ of i-\w+/m,
  );
  expect(well.stdout).toMatch(
    /^ok {4}default: diagnose and status may read what they need {2}— \d+ reads for diagnose/m,
  );
  expect(well.stdout).toMatch(
    /\n\nREADY: a fence would work: \d+ checks passed\n {2}next: cloudfence sweep --dry-run\n$/,
  );
  for (const standing of Object.values(sandbox.world.parts.cluster.objects.nodes)) {
    delete standing.spec.providerID;
    delete standing.metadata.annotations;
  }
  const ill = await cli('doctor', '--json');
  expect(ill.code).toBe(1);
  expect(JSON.parse(ill.stdout)).toMatchObject({
    verdict: 'fail',
    conclusion: {
      readiness: 'not-ready',
      says: expect.stringMatching(/^a fence would not work: \d of \d+ checks failed$/),
      missing: expect.arrayContaining([`default: Node ${node()} names its machine`]),
    },
    checks: expect.arrayContaining([
      expect.objectContaining({ verdict: 'fail', says: expect.stringContaining('--provider-id') }),
    ]),
  });
});

it('prints its version', async () =>
  expect(await startCli(['--version'], sandbox)).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' }));

it('the CLI loads no SDK for help, and only the AWS SDK for an instance of EC2', async () => {
  expect(await loadedBy(sandbox, '--help')).toMatchObject({ answer: { code: 0 }, sdks: [] });
  expect(await loadedBy(sandbox, 'fence', sandbox.scene.spare, '--json')).toMatchObject({
    answer: { code: 0 },
    sdks: ['@aws-sdk', '@kubernetes'],
  });
});
