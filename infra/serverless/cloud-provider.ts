import { CloudfenceError } from '../../fencing/model/errors.ts';
import { invokeBundleLocally, readPayload, readPackages, writePackages } from './cloud-packages.ts';
import {
  deployableNames,
  loadDeployable,
  type DeployableCloud,
  parametersFromCommandLine,
  parametersFromFile,
  type PreparedDeployment,
} from './deployer.ts';
import { forceRemoveOption, guardRemoval, FENCES_QUESTION } from './removal-guard.ts';
import type { Hooks, Options, Serverless, Writers } from './service.ts';

const stageOf = ({ service: { provider } }: Serverless, { stage }: Options): string => stage ?? provider.stage ?? 'dev';

const cloudOf = async ({ service, classes }: Serverless): Promise<DeployableCloud> => {
  const { name } = service.provider;
  const cloud = await loadDeployable(name);
  if (cloud === null)
    throw new classes.Error(`"${name}" is not a supported cloud: use one of ${deployableNames.join(', ')}`);
  return cloud;
};

interface Opened {
  readonly cloud: DeployableCloud;
  readonly prepared: PreparedDeployment;
}

/**
 * Reads and checks the parameters of the stage.
 * @throws with all faults of the parameters together
 */
const opened = async (serverless: Serverless, options: Options): Promise<Opened> => {
  const { serviceDir, service, classes } = serverless;
  const cloud = await cloudOf(serverless);
  const stage = stageOf(serverless, options);
  const written = {
    ...parametersFromFile(serviceDir, cloud.defaults),
    ...parametersFromFile(serviceDir, `stages/${stage}.${service.provider.name}.yml`),
    ...parametersFromCommandLine(options.param ?? []),
  };
  const prepared = cloud.prepare({ service: service.service, stage, written });
  if (prepared.faults.length > 0)
    throw new classes.Error(
      `Cloudfence did nothing, because the parameters are not valid:\n${prepared.faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  return { cloud, prepared };
};

const commands = {
  deploy: {
    options: {
      preview: { usage: 'Show what the deployment would change, without changing anything', type: 'boolean' },
    },
  },
  remove: { options: { 'force-remove': forceRemoveOption } },
  logs: {
    usage: 'Show the latest log lines of a function',
    lifecycleEvents: ['logs'],
    options: { function: { usage: 'The name of the function', shortcut: 'f', required: true, type: 'string' } },
  },
};

/**
 * Reports a cloud's refusal or missing answer in one sentence, because its stack does not help the person who deploys.
 */
const inWords =
  ({ classes }: Serverless, act: () => void | Promise<void>) =>
  async (): Promise<void> => {
    try {
      await act();
    } catch (error) {
      throw error instanceof CloudfenceError ? new classes.Error(error.message) : error;
    }
  };

const hooksOf = (serverless: Serverless, options: Options, writers: Writers): Hooks => {
  const say = (line: string): void => writers.log.notice(line);
  const write = (answer: unknown): void =>
    writers.writeText?.(typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2));
  const open = () => opened(serverless, options);
  const named = (): string => options.function ?? '';
  return {
    'before:package:createDeploymentArtifacts': async () => writePackages(serverless, options, (await open()).cloud),
    'deploy:deploy': async () => {
      const deployer = (await open()).prepared.open();
      if (!options.preview) return deployer.deploy(await readPackages(serverless, options), say);
      if (!deployer.preview) throw new serverless.classes.Error('this cloud does not support a preview');
      return deployer.preview(say);
    },
    'info:info': async () => write((await (await open()).prepared.open().info()).join('\n')),
    'logs:logs': async () => write((await (await open()).prepared.open().logs(named())).join('\n')),
    'invoke:invoke': async () => {
      const answer = await (await open()).prepared.open().invoke(named(), readPayload(serverless, options));
      if (answer === undefined)
        throw new serverless.classes.Error(`the function ${named()} does not exist: deploy first`);
      write(answer);
    },
    'invoke:local:invoke': async () => {
      const { cloud, prepared } = await open();
      write(await invokeBundleLocally(serverless, named(), cloud, prepared, readPayload(serverless, options)));
    },
    'remove:remove': async () => {
      const deployer = (await open()).prepared.open();
      const doctor = { name: 'doctor', ask: () => deployer.invoke('doctor', FENCES_QUESTION) };
      await guardRemoval(doctor, serverless, options, writers);
      await deployer.remove(say);
    },
  };
};

/** A plugin of `serverless`: the provider for clouds that it does not support. `deployer.ts` finds them. */
export default function cloudProvider(serverless: Serverless, options: Options, writers: Writers): object {
  const { name } = serverless.service.provider;
  serverless.setProvider(name, { getStage: () => stageOf(serverless, options) });
  serverless.configSchemaHandler.defineProvider(name, { function: { properties: { handler: { type: 'string' } } } });
  const hooks = Object.entries(hooksOf(serverless, options, writers)).map(([when, act]) => [
    when,
    inWords(serverless, act),
  ]);
  return { commands, hooks: Object.fromEntries(hooks) };
}
