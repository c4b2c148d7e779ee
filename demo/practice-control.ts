import { CloudfenceError } from '../fencing/model/errors.ts';
import { openCloudServer, type CloudServer } from '../sandbox/cloud-server.ts';
import type { Practice } from './practice.ts';

const answerCommand = ({ act }: Practice, command: string): { readonly status: number; readonly body: string } => {
  try {
    return { status: 200, body: act(command).join('\n') };
  } catch (error) {
    if (error instanceof CloudfenceError) return { status: 400, body: error.message };
    throw error;
  }
};

/**
 * Takes the commands of another terminal: each is the body of a POST on 127.0.0.1. Only who reads the address knows the
 * path, so that no page in a browser can send commands.
 */
export const openPracticeControl = async (practice: Practice, secret: string): Promise<CloudServer> => {
  const unknown = { status: 404, body: 'no sandbox takes commands here' };
  const server = await openCloudServer(({ url }, command) => ({
    ...(url === `/${secret}` ? answerCommand(practice, command) : unknown),
    call: 'command',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    cut: null,
  }));
  return { ...server, url: `${server.url}/${secret}` };
};
