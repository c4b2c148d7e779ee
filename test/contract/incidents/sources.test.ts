import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { incidentFolder } from '../../../cli/incident-place.ts';
import { systemClock } from '../../../config/environment.ts';
import { CloudfenceError, InvalidInput, PermissionDenied, Unavailable } from '../../../fencing/model/errors.ts';
import { type IncidentSource, readIncidents, incidentSourceAt } from '../../../incidents/source.ts';
import { runCli } from '../../cli/run-cli.ts';
import { never } from '../../sandbox/in-process.ts';
import { keepers, type KeeperHarness } from './stand-ins.ts';

/** What every place from which `cloudfence report` reads incidents must do. */

interface SourceHarness {
  readonly source: IncidentSource;
  readonly put: (name: string, text: string) => Promise<void>;
  readonly clear: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const ofKeeper = (open: () => Promise<KeeperHarness>) => async (): Promise<SourceHarness> => {
  const { objects, place, close } = await open();
  return {
    source: incidentSourceAt(place),
    put: async (name, text) => void objects.set(name, { text, version: 1 }),
    clear: async () => objects.clear(),
    close,
  };
};

const ofFolder = async (): Promise<SourceHarness> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-incidents-'));
  const clear = () => rm(folder, { recursive: true });
  return {
    source: incidentFolder(folder),
    put: async (name, text) => {
      await mkdir(path.join(folder, path.dirname(name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    },
    clear: async () => {
      await clear();
      await mkdir(folder);
    },
    close: clear,
  };
};

const example = (name: string): Promise<string> =>
  readFile(new URL(`../../incidents/examples/${name}.json`, import.meta.url), 'utf8');

const NAMES = [
  'incidents/-/-/unfenced-1.json',
  'incidents/eu%2Fprod/node-1/f+1.json',
  "incidents/eu%2Fprod/node-1/it's&co.json",
  'incidents/prod/node ü/f-2.json',
  'incidents/prod/node-3/f-3.json',
];

describe.each([...keepers.map(([name, , open]) => [name, ofKeeper(open)] as const), ['a folder', ofFolder] as const])(
  'the incidents in %s',
  (_, open) => {
    let there: SourceHarness;
    beforeAll(async () => {
      there = await open();
    });
    afterAll(() => there.close());
    beforeEach(() => there.clear());

    it('are listed completely, page by page, whatever their names', async () => {
      for (const name of NAMES) await there.put(name, name);
      const found = await there.source.list(never());
      expect(found.map(({ name }) => name).sort()).toEqual(NAMES.toSorted());
      for (const { name, written } of found) {
        expect([null, Date.parse('2026-01-01T00:00:30.000Z')]).toContain(written);
        expect(await there.source.read(name, never())).toBe(name);
      }
    });

    it('are none in an empty place, and an object that is gone counts as none', async () => {
      expect(await there.source.list(never())).toEqual([]);
      expect(await there.source.read('incidents/prod/node-1/gone.json', never())).toBeNull();
    });

    it('are read, and an object that is not an incident is named', async () => {
      await there.put('incidents/sandbox/node-1/fence.json', await example('fence'));
      await there.put('incidents/sandbox/node-1/cut.json', '{');
      const { incidents, damaged } = await readIncidents(await there.source.list(never()), there.source, never());
      expect(incidents.map(({ state }) => state)).toEqual(['fenced']);
      expect(damaged).toMatchObject([{ name: 'incidents/sandbox/node-1/cut.json', what: 'it is not JSON' }]);
    });
  },
);

const nowhere = { kubeconfig: '/nonexistent', clock: systemClock() };

describe.each(keepers)('cloudfence report from %s', (cloud, _, open) => {
  let there: KeeperHarness;
  let config: string;
  beforeAll(async () => {
    there = await open();
    there.objects.set('incidents/sandbox/node-1/fence.json', { text: await example('fence'), version: 1 });
    there.objects.set('incidents/sandbox/node-1/refusal.json', { text: await example('refusal'), version: 1 });
    there.objects.set('incidents/sandbox/node-2/cut.json', { text: '', version: 1 });
    there.objects.set('packages/other.json', { text: '{}', version: 1 });
    const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-place-'));
    config = path.join(folder, 'cloudfence.yaml');
    await writeFile(config, `incidents: ${there.address}\n`);
  });
  afterAll(async () => {
    await there.close();
    await rm(path.dirname(config), { recursive: true });
  });
  beforeEach(() => Object.assign(there.trouble, { status: null, list: null }));
  const report = (...args: readonly string[]) =>
    runCli(['report', '-o', 'json', ...args], { ...nowhere, environment: there.environment });
  const list = () => incidentSourceAt(there.place).list(never());

  it.each([
    ['its address', () => ['--from', there.address]],
    ['the configuration', () => ['--config', config]],
  ])('reports the incidents that are there, by %s', async (_, args) => {
    const { code, stdout, stderr } = await report(...args());
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^cloudfence: incidents\/sandbox\/node-2\/cut\.json: it is empty\. To mend it/),
    });
    expect(JSON.parse(stdout)).toMatchObject({
      where: there.place.where,
      incidents: [{}, {}],
      damaged: [{ name: 'incidents/sandbox/node-2/cut.json' }],
    });
  });

  it('names who may not list', async () => {
    there.trouble.status = 403;
    expect(await report('--from', there.address)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/status 403/),
    });
    await expect(list()).rejects.toThrow(PermissionDenied);
  });

  it.each(['', 'no list', '<html><body>proxy</body></html>', '{"items":[]}', '<ListBucketResult/>'])(
    'rejects %j, and does not treat it as an empty list',
    async (body) => {
      there.trouble.list = { body };
      await expect(list()).rejects.toThrow(Unavailable);
    },
  );

  it('rejects a page that is cut off without a continuation', async () => {
    const page = '<IsTruncated>true</IsTruncated>';
    there.trouble.list = {
      body: `<ListBucketResult>${page}</ListBucketResult><EnumerationResults><Blobs/></EnumerationResults>`,
    };
    await expect(list()).rejects.toThrow(Unavailable);
  });

  it('ends if a page names itself as the next one', async () => {
    const s3 =
      '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>';
    const azure = '<EnumerationResults><Blobs /><NextMarker>a</NextMarker></EnumerationResults>';
    there.trouble.list = { body: cloud === 'azure' ? azure : s3 };
    await expect(list()).rejects.toThrow(/the same page/);
  });

  it('ends with its signal', async () => {
    await expect(incidentSourceAt(there.place).list(AbortSignal.abort(new Error('enough')))).rejects.toThrow(
      CloudfenceError,
    );
  });
});

describe('the address of a place', () => {
  it.each(['s3://', 's3://b/other', 'gs://Upper', 'ftp://host/incidents', 'https://host', 'https://h/i?sig=secret'])(
    '%s is rejected, with the forms that are possible',
    async (from) => {
      const { code, stderr } = await runCli(['report', '--from', from], { ...nowhere, environment: {} });
      expect(stderr).not.toContain('secret');
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /is no place of incidents: write s3:\/\/<bucket>, https:.*, gs:\/\/<bucket>, or a/,
        ),
      });
    },
  );

  it('in another region is rejected, with that region', async () => {
    const [, , open] = keepers[0] ?? [];
    const there = await open?.();
    if (!there) throw new Error('AWS has a stand-in');
    there.trouble.list = { status: 301, body: '', headers: { 'x-amz-bucket-region': 'us-east-1' } };
    await expect(incidentSourceAt(there.place).list(never())).rejects.toThrow(
      new InvalidInput('the bucket is in us-east-1, not in eu-west-1: give --region us-east-1'),
    );
    await there.close();
  });
});
