import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isMap, isNode, isScalar, parseDocument } from 'yaml';
import { z } from 'zod';
import { configurationSchema } from '../../config/schema.ts';
import { deployableNames, loadDeployable } from './deployer.ts';
import { deploymentParameters } from './parameter-schema.ts';
import { DEFAULTS } from './parameters.ts';

/**
 * JSON Schemas of the configuration file and of each cloud's stage file, for editors: they complete names, and mark
 * wrong names and values. They are less strict than Cloudfence, which validates everything again.
 * https://json-schema.org/draft/2020-12
 */

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Describes the input format: for example, a duration and not the milliseconds to which it is converted. */
const inputSchema = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });

const propertyIn = ({ properties = {} }: JsonSchema, name: string): JsonSchema | null => {
  const schema = properties[name];
  return typeof schema === 'object' ? schema : null;
};

interface Parameter {
  readonly name: string;
  /** The comment in the file of defaults. */
  readonly description: string | null;
}

const parametersIn = async (root: string, defaults: string): Promise<readonly Parameter[]> => {
  const { contents } = parseDocument(await readFile(path.join(root, defaults), 'utf8'));
  return (isMap(contents) ? contents.items : []).flatMap(({ key, value }) => {
    const comment = isNode(value) ? value.comment : null;
    const description = typeof comment === 'string' ? comment.replaceAll(/\s+/g, ' ').trim() : null;
    return isScalar(key) ? [{ name: String(key.value), description }] : [];
  });
};

interface Stage {
  readonly cloud: string;
  readonly parameters: z.ZodType;
  /** The file with all parameters and their defaults. */
  readonly defaults: string;
}

/** A stage file contains only values that differ from the defaults, and null is a valid value. */
const stageSchema = async (root: string, { cloud, parameters, defaults }: Stage): Promise<JsonSchema> => {
  const sources = [parameters, configurationSchema].map(inputSchema);
  const properties = (await parametersIn(root, defaults)).map(({ name, description }): [string, JsonSchema] => {
    const schema = sources.map((source) => propertyIn(source, name)).find((found) => found !== null);
    return [name, { anyOf: [schema ?? {}, { type: 'null' }], ...(description !== null && { description }) }];
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `A stage of Cloudfence on ${cloud}`,
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  };
};

const stages = async (): Promise<readonly Stage[]> => {
  const others = deployableNames.map(async (cloud) => {
    const deployable = await loadDeployable(cloud);
    return deployable ? [{ ...deployable, cloud }] : [];
  });
  return [
    { cloud: 'aws', parameters: deploymentParameters, defaults: DEFAULTS },
    ...(await Promise.all(others)).flat(),
  ];
};

/** Returns each schema by the name of its file. `root` is the folder of the project. */
export const jsonSchemas = async (root: string): Promise<Readonly<Record<string, JsonSchema>>> => {
  const ofStages = (await stages()).map(async (stage): Promise<[string, JsonSchema]> => [
    `stage.${stage.cloud}.schema.json`,
    await stageSchema(root, stage),
  ]);
  const configuration = { title: 'The configuration of Cloudfence', ...inputSchema(configurationSchema) };
  return { 'configuration.schema.json': configuration, ...Object.fromEntries(await Promise.all(ofStages)) };
};
