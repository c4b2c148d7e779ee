export { asOf, place, presentIn, write, type Kept, type Shelf } from '../kept.ts';
