// Makes a presentation in the house style: the slides come as arguments, the style is template.pptx's.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Deck } from './lib/deck.mjs';

const args = JSON.parse(readFileSync(process.env.ARTIFIC_ARGUMENTS, 'utf8'));
const themes = JSON.parse(readFileSync('themes.json', 'utf8'));

const deck = new Deck('template.pptx');
deck.accent(themes[args.theme ?? 'house']);
deck.slide(args.title, []);
for (const s of args.slides) deck.slide(s.heading, s.bullets ?? []);
deck.save(join(process.env.ARTIFIC_OUTPUTS, 'presentation.pptx'));
console.log(`${args.slides.length + 1} slides written`);
