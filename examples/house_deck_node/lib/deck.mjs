// A presentation made from a template: a .pptx file is a zip archive of XML parts.
import { readFileSync, writeFileSync } from 'node:fs';
import { unzip, zip } from './zip.mjs';

const NAMESPACES = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
  + 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
  + 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/';
const SLIDE_TYPE = 'application/vnd.openxmlformats-officedocument.presentationml.slide+xml';
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

export class Deck {
  #parts;
  #count = 0;

  constructor(template) {
    this.#parts = new Map([...unzip(readFileSync(template))].map(([name, content]) => [name, content.toString('utf8')]));
  }

  /** The colour of titles and of the bar at the top, as RRGGBB. */
  accent(colour) {
    this.#change('ppt/theme/theme1.xml', /(<a:accent1><a:srgbClr val=")[0-9A-F]{6}/, (_, before) => before + colour);
  }

  slide(heading, bullets) {
    const n = ++this.#count, text = bullets.map(paragraph).join('') || '<a:p/>';
    this.#parts.set(`ppt/slides/slide${n}.xml`, `${HEAD}<p:sld ${NAMESPACES}><p:cSld><p:spTree>`
      + '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
      + shape(2, 'Title', 'type="title"', paragraph(heading)) + shape(3, 'Body', 'type="body" idx="1"', text)
      + '</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>');
    this.#parts.set(`ppt/slides/_rels/slide${n}.xml.rels`, `${HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
      + `<Relationship Id="rId1" Type="${RELATIONS}slideLayout" Target="../slideLayouts/slideLayout1.xml"/></Relationships>`);
  }

  save(path) {
    const each = (f) => Array.from({ length: this.#count }, (_, i) => f(i + 1)).join('');
    this.#change('ppt/presentation.xml', /<\/p:sldMasterIdLst>/, (end) => `${end}<p:sldIdLst>${each((n) => `<p:sldId id="${255 + n}" r:id="slide${n}"/>`)}</p:sldIdLst>`);
    this.#change('ppt/_rels/presentation.xml.rels', /<\/Relationships>/,
      (end) => each((n) => `<Relationship Id="slide${n}" Type="${RELATIONS}slide" Target="slides/slide${n}.xml"/>`) + end);
    this.#change('[Content_Types].xml', /<\/Types>/, (end) => each((n) => `<Override PartName="/ppt/slides/slide${n}.xml" ContentType="${SLIDE_TYPE}"/>`) + end);
    writeFileSync(path, zip(new Map([...this.#parts].map(([name, text]) => [name, Buffer.from(text)]))));
  }

  #change(part, pattern, by) {
    const before = this.#parts.get(part) ?? '';
    if (!pattern.test(before)) throw new Error(`the template is not one of the house's: ${part}`);
    this.#parts.set(part, before.replace(pattern, by));
  }
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function paragraph(text) {
  const clean = text.toWellFormed?.() ?? text;
  const held = clean.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd'); // what XML cannot hold
  return `<a:p><a:r><a:rPr lang="en-US"/><a:t>${held.replace(/[&<>]/g, (c) => ENTITIES[c])}</a:t></a:r></a:p>`;
}

function shape(number, name, placeholder, text) {
  return `<p:sp><p:nvSpPr><p:cNvPr id="${number}" name="${name}"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph ${placeholder}/></p:nvPr>`
    + `</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:lstStyle/>${text}</p:txBody></p:sp>`;
}
