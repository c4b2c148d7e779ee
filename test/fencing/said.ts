import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';

/** A decision in one line: the name and target of the step, or the kind of decision, with the code of its reason. */
export const said = (given: View): string => {
  const decision = decide(given);
  switch (decision.do) {
    case 'step':
      return decision.step.do;
    case 'end':
      return `${decision.outcome} ${decision.because.code}`;
    case 'wait':
    case 'witness':
    case 'survey-connectivity':
    case 'reserve':
    case 'search':
    case 'reread':
      return `${decision.do} ${decision.because.code}`;
  }
};
