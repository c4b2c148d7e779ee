// What the tests of a page ask inside the browser. Each function returns what is wrong, in words.

const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());

const boxOf = (one) => one.getBoundingClientRect();
const overlap = (a, b) => a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;

/** Nothing may stick out of the page on the right. */
const stickingOut = () => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const out = shown('body *').filter((one) => !one.closest('svg, .skip') && boxOf(one).right > clientWidth + 0.5);
  return [
    ...(scrollWidth > clientWidth ? [`the page: ${scrollWidth} > ${clientWidth}`] : []),
    ...out.slice(0, 3).map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 60)}`),
  ];
};

const SMALLEST = 9.5;

const troubleIn = (chart) => {
  const whole = boxOf(chart);
  const scale = whole.width / Number(chart.getAttribute('viewBox').split(' ')[2]);
  const words = [...chart.querySelectorAll('text')].map((one) => ({ one, box: boxOf(one) }));
  const bars = [...chart.querySelectorAll('rect')].map((one) => ({ one, box: boxOf(one) }));
  const inWords = ({ one }) => one.textContent || one.getAttribute('class');
  return words.flatMap((word) => [
    ...(parseFloat(getComputedStyle(word.one).fontSize) * scale < SMALLEST ? [`small: ${inWords(word)}`] : []),
    ...(word.box.x < whole.x - 1 || word.box.right > whole.right + 1 ? [`cut: ${inWords(word)}`] : []),
    ...[...words, ...bars]
      .filter((other) => other.one !== word.one && overlap(word.box, other.box))
      .map((other) => `${inWords(word)} is over ${inWords(other)}`),
  ]);
};

/** Each drawing that is shown is of this kind, and its words can be read. */
const chartTrouble = (kind) => {
  const charts = shown('.chart');
  if (charts.length === 0) return ['there is no drawing'];
  return charts.flatMap((chart) => [
    ...(chart.classList.contains(kind) ? [] : [`it is not ${kind}`]),
    ...troubleIn(chart),
  ]);
};

const channel = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const luminance = (color) => {
  const [r, g, b] = color.match(/[\d.]+/g).map((part) => channel(Number(part) / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

/** WCAG: 4.5 for words, 3 for what is drawn. Axe does not measure drawings. */
const weakContrast = () => {
  const ground = luminance(getComputedStyle(document.querySelector('.incident')).backgroundColor);
  const ratio = (one) => {
    const own = luminance(getComputedStyle(one).fill);
    return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
  };
  const below = (least, selector) =>
    shown(selector).flatMap((one) => (ratio(one) < least ? [`${selector}: ${ratio(one).toFixed(2)} < ${least}`] : []));
  const bars = ['unnoticed', 'cloudfence', 'kubernetes', 'alone'].map((kind) => `.chart .${kind}`);
  return [...below(4.5, '.chart text'), ...bars.flatMap((bar) => below(3, bar))];
};

/** What has the focus has to be seen, with a mark around it. */
const focused = () => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const { left, top, bottom } = boxOf(one);
  const isSeen = outlineStyle !== 'none' && outlineWidth !== '0px' && left >= 0 && top < innerHeight && bottom > 0;
  return isSeen ? one.tagName : `not seen: ${one.outerHTML.slice(0, 80)}`;
};

const ground = () => getComputedStyle(document.body).backgroundColor;

const toFocus = () => shown('a, summary').length;

/** What axe finds. */
const barriers = async () => {
  const { violations } = await globalThis.axe.run();
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
};

globalThis.inPage = { stickingOut, chartTrouble, weakContrast, focused, ground, toFocus, barriers };
