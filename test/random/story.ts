import type { Plan, Planned } from './plan.ts';
import type { Played, StoryLine } from './simulation.ts';

/** Describes a schedule in sentences with times. */

const second = (at: number): string => `${(at / 1_000).toFixed(1).padStart(7)} s`;

const line = ({ at, says }: StoryLine): string => `${second(at)}  ${says}`;

/** The surroundings in which the schedule takes place. */
const setting = ({
  seed,
  home,
  clouds,
  databases,
  policy,
  assumption,
  faultPeriods,
  lostEvents,
}: Plan): readonly string[] => [
  `Seed ${seed}: ${clouds.length} machines (${clouds.join(', ')}), ${databases} databases, functions on ${home}.`,
  `Policy: detach ${policy.detach}, deleteNode ${policy.deleteNode}, unreachable ${policy.unreachable}, optOut ${policy.optOut}, cap ${policy.cap.share} and ${policy.cap.atOnce} at once.`,
  `Assumption: staleness ${assumption.staleness} ms, transit ${assumption.transit} ms, boot to mount ${assumption.bootToMount} ms. ${lostEvents * 100} % of the events are lost.`,
  ...faultPeriods.map(
    ({ fault, service, from, until, share }) =>
      `From ${from / 1_000} s to ${until / 1_000} s, ${share * 100} % of the calls to ${service} are ${fault}.`,
  ),
];

export const toldStory = (plan: Plan, { story, violations, stuck }: Played): readonly string[] => [
  ...setting(plan),
  ...story.map(line),
  ...violations.slice(0, 1).map(({ at, breaks, says }) => `${second(at)}  This breaks ${breaks}: ${says}.`),
  ...stuck.map((says) => `In the end, ${says}.`),
];

/** Returns in words what happens. `name` is the machine that it concerns. */
export const happeningInWords = (what: Planned, name: string): string => {
  switch (what.do) {
    case 'stop':
      return what.byGuest ? `the guest of ${name} shuts itself down` : `somebody stops ${name}`;
    case 'terminate':
      return `somebody terminates ${name}`;
    case 'forget-machine':
      return `the cloud forgets ${name}`;
    case 'recreate':
      return `somebody creates ${name} under the name of a machine that is gone`;
    case 'take-over':
      return `somebody creates ${name} under the name of a machine that is gone, and it gets its Node`;
    case 'start':
      return `somebody starts ${name}`;
    case 'hibernate':
      return `somebody hibernates ${name}`;
    case 'reboot':
      return `${name} reboots`;
    case 'cut-off':
      return `the kubelet of ${name} is cut off`;
    case 'reconnect':
      return `the kubelet of ${name} reaches the API server again`;
    case 'kill':
      return 'a function is killed';
    case 'freeze':
      return `a function is frozen for ${what.ms / 1_000} s`;
    case 'remove-taint':
      return `a person removes our taint from the Node of ${name}`;
    case 'remove-fence':
      return `a person removes the whole fence of ${name}`;
    case 'remove-label':
      return `a person removes only the label of the fence on the Node of ${name}`;
    case 'remove-seal':
      return `a person removes only the seal of the record of ${name}`;
    case 'remove-taint-label':
      return `a person removes only the label of our taint on the Node of ${name}`;
    case 'remove-quarantine':
      return `a person removes only the quarantine of ${name}`;
    case 'remove-record':
      return `the kubelet of ${name} removes the record`;
    case 'change-record':
      return `the kubelet of ${name} changes the record`;
    case 'delete-node':
      return `a person deletes the Node of ${name}`;
    case 'foreign-taint':
      return `a person sets an out-of-service taint on the Node of ${name}`;
    case 'bind-pod':
      return `a person binds a pod to the Node of ${name} by its name`;
    case 'hold-pod':
      return `a finalizer holds a pod of ${name} for ${what.ms / 1_000} s`;
    case 'dry-run':
      return `a person asks what Cloudfence would do about ${name}`;
    case 'release':
      return `a person asks for the release of ${name}`;
    case 'accept':
      return `a person ends the fence of ${name} with \`release --accept\``;
    case 'opt-out':
      return `a person opts the Node of ${name} out, by ${what.by ?? 'label'}`;
    case 'opt-in':
      return `a person removes the opt-out of ${name}`;
    case 'pause':
      return 'a person pauses Cloudfence';
    case 'unpause':
      return 'a person ends the pause';
    case 'shadow':
      return 'Cloudfence is deployed in shadow mode';
    case 'unshadow':
      return 'Cloudfence is deployed without shadow mode';
    case 'attacher-down':
      return 'the CSI attacher stops';
    case 'attacher-up':
      return 'the CSI attacher runs again';
    case 'register-again':
      return `the kubelet of ${name} registers under another name`;
    case 'poison':
      return 'a message arrives that nobody can read';
    case 'deploy-old':
      return 'another version is deployed: records and messages have the form of an older one';
    case 'deploy-newer':
      return 'a version is rolled back: records and messages have the form of a newer one';
    case 'rotate':
      return `somebody rotates the key for ${what.service}`;
    case 'sweep':
      return 'a sweep begins';
    case 'send-again':
      return 'the queue delivers a message twice';
  }
};
