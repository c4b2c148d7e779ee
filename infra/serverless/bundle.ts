import path from 'node:path';
import { bundleFunction } from './bundle-function.ts';
import type { FunctionConfig, Hooks, Options, Serverless } from './service.ts';

const HANDLER = /^(?<file>.+)\.(?<name>\w+)$/;

interface Bundle {
  readonly source: string;
  readonly folder: string;
}

/** Points a function at its bundle instead of its source, and limits its zip to that bundle. */
const pointAtBundle = (name: string, config: FunctionConfig): Bundle => {
  const { file = '', name: handler = '' } = HANDLER.exec(config.handler)?.groups ?? {};
  const folder = `dist/functions/${name}`;
  config.handler = `${folder}/index.${handler}`;
  config.package = { patterns: ['!**', `${folder}/**`] };
  return { source: `${file}.ts`, folder };
};

/** A plugin of `serverless` that bundles each function on its own before it is packaged. */
export default function bundle(serverless: Serverless, options: Options): { readonly hooks: Hooks } {
  const { service, serviceDir } = serverless;
  const bundles = new Map<string, Bundle>();
  const prepare = (): void => {
    service.package = { ...service.package, individually: true, excludeDevDependencies: false };
    for (const name of service.getAllFunctions()) bundles.set(name, pointAtBundle(name, service.getFunction(name)));
  };
  const write = async (names: readonly string[]): Promise<void> => {
    const wanted = [...bundles].filter(([name]) => names.includes(name));
    for (const [, { source, folder }] of wanted)
      await bundleFunction(serviceDir, source, path.join(serviceDir, folder));
  };
  const writeAll = (): Promise<void> => write([...bundles.keys()]);
  const writeOne = (): Promise<void> => write(options.function === undefined ? [] : [options.function]);
  return {
    hooks: {
      initialize: prepare,
      'before:package:initialize': writeAll,
      'before:package:function:package': writeOne,
      'before:deploy:function:initialize': writeOne,
      'before:invoke:local:invoke': writeOne,
    },
  };
}
