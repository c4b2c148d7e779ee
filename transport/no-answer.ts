import { z } from 'zod';

/**
 * What Node says of a connection that did not come to stand, or broke.
 * https://nodejs.org/api/errors.html#class-systemerror
 */
const systemError = z.object({
  code: z.string().regex(/^[A-Z][A-Z_0-9]+$/),
  hostname: z.string().optional(),
  address: z.string().optional(),
  port: z.number().optional(),
  host: z.string().optional(),
});

type SystemError = z.infer<typeof systemError>;

/** Each SDK wraps it in its own way; where every address of a name was tried, there is one for each. */
const wrapping = z.object({ cause: z.unknown().optional(), errors: z.array(z.unknown()).optional() });

const MOST_WRAPPINGS = 8;

const namesAPlace = ({ hostname, address, host }: SystemError): boolean => (hostname ?? address ?? host) !== undefined;

/** The innermost says most: an error of many addresses has a code, and no address. */
const systemErrorIn = (caught: unknown, depth = 0): SystemError | null => {
  const here = systemError.safeParse(caught).data ?? null;
  if ((here && namesAPlace(here)) || depth > MOST_WRAPPINGS) return here;
  const { cause, errors = [] } = wrapping.safeParse(caught).data ?? {};
  const inner = [cause, ...errors].map((one) => (one === undefined ? null : systemErrorIn(one, depth + 1)));
  return inner.find((one) => one !== null && namesAPlace(one)) ?? here ?? inner.find((one) => one !== null) ?? null;
};

const placeOf = ({ hostname, address, port, host }: SystemError): string | null => {
  if (hostname !== undefined) return hostname;
  return address === undefined ? (host ?? null) : `${address}${port === undefined ? '' : `:${port}`}`;
};

/**
 * Why there is no answer, for people: the system's code and who was asked, such as `ECONNREFUSED 10.0.0.1:443`. Null
 * where the network has nothing to do with it. `asked`: the host that the caller had in mind, for errors that name
 * none.
 */
export const noAnswer = (caught: unknown, asked: string | null = null): string | null => {
  const found = systemErrorIn(caught);
  if (!found) return null;
  const place = placeOf(found);
  const via = asked !== null && place !== null && place !== asked && !place.startsWith(asked) ? ` (${asked})` : '';
  return `${found.code}${place === null && asked === null ? '' : ` ${place ?? asked}`}${via}`;
};

const LONGEST_SENTENCE = 2_000;

/**
 * A service's own sentence: its first line, for what follows may quote the request that it was sent, signature and all.
 */
export const sentenceOf = (message: string): string => {
  const [line = ''] = message.trim().split(/[\r\n]/, 1);
  return line.length > LONGEST_SENTENCE ? `${line.slice(0, LONGEST_SENTENCE)}…` : line;
};
