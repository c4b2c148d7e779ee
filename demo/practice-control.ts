import { CloudfenceError } from '../fencing/model/errors.ts';
import { openCloudServer, type CloudServer } from '../sandbox/cloud-server.ts';
import type { Practice } from './practice.ts';

const answerTo = ({ act }: Practice, command: string): { readonly status: number; readonly body: string } => {
  try {
    return { status: 200, body: act(command).join('\n') };
  } catch (error) {
    if (error instanceof CloudfenceError) return { status: 400, body: error.message };
    throw error;
  }
};

/** Takes the commands of another terminal: each is the body of a POST on 127.0.0.1. */
export const openPracticeControl = (practice: Practice): Promise<CloudServer> =>
  openCloudServer((_, command) => ({
    ...answerTo(practice, command),
    call: 'command',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    cut: null,
  }));
