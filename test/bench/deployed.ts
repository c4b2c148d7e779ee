import { stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { PackagedService } from '../infra/packaged-service.ts';
import { templateIn } from '../infra/packaged-service.ts';
import { unzip } from '../infra/unzip.ts';

/**
 * A function as `serverless package` builds it: the content of its zip, and the settings with which its template starts
 * it.
 */
export interface Deployed {
  readonly name: string;
  /** Bytes. */
  readonly zip: number;
  /** Of the unpacked bundle. */
  readonly folder: string;
  readonly file: string;
  /** Name of the handler among the exports, if it is not `handler`. */
  readonly exported?: string;
  /** Variables that Node, and the C library, read themselves. */
  readonly environment: Readonly<Record<string, string>>;
}

const properties = z.object({
  FunctionName: z.string(),
  Handler: z.string(),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});
const isOfTheProcess = (name: string): boolean =>
  name.startsWith('NODE_') || name.startsWith('MALLOC_') || name.startsWith('UV_');

/** Packages the service as it is deployed, and unpacks the zips of these functions. */
export const deployedFunctions = async (
  service: PackagedService,
  names: readonly string[],
): Promise<readonly Deployed[]> => {
  const packaged = await service.package('dev');
  const { Resources } = await templateIn(packaged);
  const all = Object.values(Resources).flatMap(({ Type, Properties }) =>
    Type === 'AWS::Lambda::Function' ? [properties.parse(Properties)] : [],
  );
  return Promise.all(
    names.map(async (name): Promise<Deployed> => {
      const found = all.find(({ FunctionName }) => FunctionName === `cloudfence-dev-${name}`);
      if (!found) throw new Error(`the template has no function ${name}`);
      const zip = path.join(packaged.folder, `${name}.zip`);
      const unpacked = path.join(packaged.folder, `${name}-unpacked`);
      await unzip(zip, unpacked);
      const file = path.join(unpacked, found.Handler.replace(/\.\w+$/, '.js'));
      const variables = Object.entries(found.Environment.Variables).filter(([key]) => isOfTheProcess(key));
      return {
        name,
        zip: (await stat(zip)).size,
        folder: path.dirname(file),
        file,
        environment: Object.fromEntries(variables.map(([key, value]) => [key, String(value)])),
      };
    }),
  );
};
