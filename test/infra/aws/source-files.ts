import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

/** The resources of one file of infra/aws, as it is written. A value in `${…}` stays a text. */

const tag = (name: string) => ({ tag: name, resolve: (text: string) => text });

const resource = z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()) });
const document = z.object({ Resources: z.record(z.string(), resource) });

export const resourcesIn = (name: string): z.infer<typeof document>['Resources'] => {
  const text = readFileSync(new URL(`../../../infra/aws/${name}`, import.meta.url), 'utf8');
  return document.parse(parse(text, { customTags: [tag('!GetAtt'), tag('!Sub'), tag('!Ref')], merge: true })).Resources;
};
