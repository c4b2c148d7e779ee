import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkParameters } from '../../infra/serverless/parameter-schema.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { pathWithoutFunctions, stageOf } from './init-stage.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli } from './run-cli.ts';

/** `cloudfence init`: what it finds, where it says that each value comes from, and what it never does. */

let sandbox: LiveSandbox;
beforeAll(async () => {
  sandbox = await openLiveSandbox();
});
afterAll(() => sandbox.close());

const init = (...args: readonly string[]) => runCli(['init', ...args], sandbox);
const fileIn = (name: string): string => path.join(sandbox.folder, name);

describe('init on AWS', () => {
  it('writes a stage file that the deployment accepts, and says where each value comes from', async () => {
    const { answer, file, text, written, whole } = await stageOf(sandbox, 'infra/aws/parameters.yml');
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(written).toEqual({
      region: 'eu-west-1',
      shadow: true,
      clusters: [{ name: 'sandbox', secret: 'cloudfence-sandbox-kubeconfig' }],
    });
    expect(checkParameters(whole).faults).toEqual([]);
    for (const said of [
      '# region: by the providerIDs: eu-west-1 (2 Nodes)',
      'EC2 knows 2 of 2 machines there',
      'CSI driver ebs.csi.aws.com, on 2 of 2 Nodes',
      'It deletes the Node of a terminated machine',
      'a control plane of your own, Kubernetes v1.36',
      '# CHECK EC2 shows no tag kubernetes.io/cluster/<name> on them',
    ])
      expect(text).toContain(said);
    expect(answer.stdout.split('\n')).toEqual([
      `Wrote ${file}. Read it, and then:`,
      '  npx cloudfence doctor --context sandbox --region eu-west-1',
      '  kubectl --context sandbox apply -f infra/kubernetes/rbac.yaml',
      expect.stringContaining(
        'cloudfence kubeconfig --context sandbox --name sandbox > cloudfence-sandbox-kubeconfig.yaml',
      ),
      expect.stringContaining(
        'aws secretsmanager create-secret --region eu-west-1 --name cloudfence-sandbox-kubeconfig',
      ),
      '  rm cloudfence-sandbox-kubeconfig.yaml',
      '  npx serverless deploy --stage prod',
      `  npx serverless invoke --stage prod -f doctor -d '{"question": "test-event"}'`,
      '',
    ]);
  });

  it('names the schema for editors where it is beside the file, and no path that does not exist', async () => {
    const [checkout, elsewhere] = [fileIn('checkout'), fileIn('elsewhere')];
    await mkdir(path.join(checkout, 'infra/schemas'), { recursive: true });
    await writeFile(path.join(checkout, 'infra/schemas/stage.aws.schema.json'), '{}');
    const textIn = async (folder: string): Promise<string> => {
      const file = path.join(folder, 'stages/prod.yml');
      await init('-o', file);
      return readFile(file, 'utf8');
    };
    expect(await textIn(checkout)).toContain('# yaml-language-server: $schema=../infra/schemas/stage.aws.schema.json');
    expect(await textIn(elsewhere)).not.toContain('$schema');
  });

  it('writes a configuration with which the doctor of the CLI is ready', async () => {
    const { init: answer, configuration, doctor } = await pathWithoutFunctions(sandbox);
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining('npx cloudfence doctor') });
    expect(configuration).toMatchObject({ region: 'eu-west-1', shadow: true, clusters: [{ context: 'sandbox' }] });
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining('\nREADY: ') });
  });

  it('names the values that nothing confirms if the cloud does not answer', async () => {
    const { code, stdout } = await runCli(['init', '--dry-run'], sandbox, {
      environment: { AWS_ENDPOINT_URL_EC2: 'http://127.0.0.1:9' },
    });
    expect(code).toBe(0);
    expect(stdout).toContain('EC2 did not answer, so nothing is confirmed: ');
    expect(parse(stdout)).toMatchObject({ region: 'eu-west-1' });
  });

  it('questions a label of the kubelet that contradicts the providerIDs', async () => {
    const [node] = Object.values(sandbox.world.parts.cluster.objects.nodes);
    const labels = node?.metadata.labels ?? {};
    const before = labels['topology.kubernetes.io/region'] ?? '';
    labels['topology.kubernetes.io/region'] = 'us-east-1';
    const { stdout } = await init('--dry-run');
    labels['topology.kubernetes.io/region'] = before;
    expect(stdout).toContain(
      'the label topology.kubernetes.io/region says us-east-1 (1 Node), but a kubelet can write labels',
    );
    expect(parse(stdout)).toMatchObject({ region: 'eu-west-1' });
  });
});

describe('the file', () => {
  it('is not replaced without --force', async () => {
    const file = fileIn('mine.yml');
    await writeFile(file, 'mine: true\n');
    expect(await init('-o', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exists already: give --force'),
    });
    expect(await readFile(file, 'utf8')).toBe('mine: true\n');
    expect(await init('-o', file, '--force')).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toContain('cloudfence-sandbox-kubeconfig');
  });

  it('is only printed by a dry run', async () => {
    const file = fileIn('nothing.yml');
    const { code, stdout, stderr } = await init('-o', file, '--dry-run');
    expect([code, parse(stdout)]).toMatchObject([0, { region: 'eu-west-1' }]);
    expect(stderr).toContain('npx serverless deploy --stage prod');
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it('is part of the one JSON object of --json', async () => {
    const { stdout } = await init('--dry-run', '--json', '--stage', 'blue');
    const answer = JSON.parse(stdout);
    expect(answer).toMatchObject({
      file: 'stages/blue.yml',
      written: false,
      cloud: 'aws',
      values: [{ key: 'region', value: 'eu-west-1', from: expect.stringContaining('providerIDs') }],
      clusters: [{ name: 'sandbox', managed: null, nodes: 2, drivers: [{ name: 'ebs.csi.aws.com', nodes: 2 }] }],
      unreachable: [],
      steps: expect.arrayContaining(['npx serverless deploy --stage blue']),
    });
    expect(parse(answer.text)).toMatchObject({ region: 'eu-west-1' });
  });

  it('contains no secret of the kubeconfig, and the steps contain none either', async () => {
    for (const reader of ['cli', 'functions'])
      expect((await init('--dry-run', '--json', '--for', reader)).stdout).not.toContain(ADMIN_TOKEN);
  });
});

describe('a kubeconfig with several contexts', () => {
  const file = () => fileIn('several.yaml');
  beforeAll(async () => {
    const own: { clusters: object[]; contexts: object[]; users: object[] } = parse(
      await readFile(sandbox.kubeconfig, 'utf8'),
    );
    const several = {
      ...own,
      clusters: [...own.clusters, { name: 'away', cluster: { server: 'https://127.0.0.1:9' } }],
      contexts: [
        ...own.contexts,
        { name: 'reader', context: { cluster: 'sandbox', user: 'admin' } },
        { name: 'lost', context: { cluster: 'away', user: 'admin' } },
      ],
    };
    await writeFile(file(), stringify(several));
  });
  const several = (...args: readonly string[]) => init('--dry-run', '--kubeconfig', file(), ...args);

  it('uses the current one, and names the others', async () => {
    const { code, stdout } = await several();
    expect(code).toBe(0);
    expect(stdout).toContain('# This file leaves out context lost: not asked for: name it with --context');
    expect(stdout).toContain('# This file leaves out context reader: the same cluster as sandbox');
  });

  it('uses each cluster once, and leaves one that does not answer as a comment', async () => {
    const { code, stdout, stderr } = await several('--all-contexts');
    expect(code).toBe(0);
    expect(parse(stdout)).toMatchObject({ clusters: [{ name: 'sandbox' }] });
    expect(stdout).toContain('This file leaves out context reader: the same cluster as sandbox');
    expect(stdout).toMatch(/# This file leaves out context lost, because its cluster does not answer: /);
    expect(stderr).toMatch(/^lost cannot be reached, so it is not in the file: /m);
    expect(stderr).toContain(`export KUBECONFIG=${file()}`);
  });

  it('fails if no cluster answers, or if a context does not exist', async () => {
    expect(await several('--context', 'lost')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no cluster answers: lost: '),
    });
    expect(await several('--context', 'nobody')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no context named nobody'),
    });
  });
});

it('writes nothing for a cloud on which no Node is', async () => {
  const file = fileIn('wrong.yml');
  expect(await init('--cloud', 'gcp', '-o', file)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no cluster has Nodes on gcp: omit --cloud'),
  });
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

it('says what to do about Nodes that name no machine', async () => {
  const nodes = Object.values(sandbox.world.parts.cluster.objects.nodes);
  const before = nodes.map(({ spec, metadata }) => ({ id: spec.providerID, annotations: metadata.annotations }));
  for (const { spec, metadata } of nodes) {
    delete spec.providerID;
    delete metadata.annotations;
  }
  expect(await init('--dry-run')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('start the kubelets with --provider-id'),
  });
  const { code, stdout } = await init('--dry-run', '--cloud', 'aws');
  nodes.forEach(
    ({ spec, metadata }, at) =>
      Object.assign(spec, { providerID: before[at]?.id }) &&
      Object.assign(metadata, { annotations: before[at]?.annotations }),
  );
  expect(code).toBe(0);
  expect(stdout).toContain('CHECK 2 Nodes without a machine: ');
});
