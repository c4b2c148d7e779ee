import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { createPublisher } from '../../../providers/gcp/publish.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';

interface Arrived {
  readonly call: string;
  readonly authorization: string | null;
  readonly body: unknown;
}

const TOPIC = 'projects/p/topics/t';

describe('a message to a topic', () => {
  const arrived: Arrived[] = [];
  let topics: StandIn;
  let endpoint = '';
  let status = 200;
  beforeAll(async () => {
    topics = await openStandIn(({ method, url, authorization, body }) => {
      arrived.push({ call: `${method} ${url}`, authorization, body: JSON.parse(String(body)) });
      return { status };
    });
    endpoint = topics.url;
  });
  afterAll(() => topics.close());

  it('is sent unchanged, with its attributes, and without credentials over plain http', async () => {
    await createPublisher({ endpoint })(TOPIC, { text: '{"größe": 1}', attributes: { reason: 'not JSON' } });
    expect(arrived).toEqual([
      {
        call: 'POST /v1/projects/p/topics/t:publish',
        authorization: null,
        body: {
          messages: [{ data: Buffer.from('{"größe": 1}').toString('base64'), attributes: { reason: 'not JSON' } }],
        },
      },
    ]);
  });

  it.each([
    [401, PermissionDenied],
    [403, PermissionDenied],
    [400, Refused],
    [404, Refused],
    [429, Unavailable],
    [503, Unavailable],
  ])('fails with an error that depends on the status (%i)', async (answered, expected) => {
    status = answered;
    await expect(createPublisher({ endpoint })(TOPIC, { text: '', attributes: {} })).rejects.toBeInstanceOf(expected);
    status = 200;
  });

  it('is unavailable if no service answers', async () => {
    await expect(
      createPublisher({ endpoint: 'http://127.0.0.1:1' })(TOPIC, { text: '', attributes: {} }),
    ).rejects.toBeInstanceOf(Unavailable);
  });
});
