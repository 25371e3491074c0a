"""A presentation made from a template, with nothing but the standard library: a .pptx file is a zip archive of XML parts."""
import re
import zipfile
from xml.sax.saxutils import escape

_NAMESPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_SLIDE_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"
_DATE = (2026, 1, 1, 0, 0, 0)  # the same slides are the same file, byte by byte


class Deck:
    def __init__(self, template):
        with zipfile.ZipFile(template) as z:
            self._parts = {name: z.read(name).decode("utf-8") for name in z.namelist()}
        self._count = 0

    def accent(self, colour):
        """The colour of titles and of the bar at the top, as RRGGBB."""
        self._change("ppt/theme/theme1.xml", r"(<a:accent1><a:srgbClr val=\")[0-9A-F]{6}", lambda m: m[1] + colour)

    def slide(self, heading, bullets):
        self._count += 1
        n, text = self._count, "".join(map(_paragraph, bullets)) or "<a:p/>"
        self._parts[f"ppt/slides/slide{n}.xml"] = (
            f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<p:sld {_NAMESPACES}><p:cSld><p:spTree>'
            '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
            + _shape(2, "Title", 'type="title"', _paragraph(heading)) + _shape(3, "Body", 'type="body" idx="1"', text)
            + "</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>"
        )
        self._parts[f"ppt/slides/_rels/slide{n}.xml.rels"] = (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{_RELATIONS}slideLayout" Target="../slideLayouts/slideLayout1.xml"/></Relationships>'
        )

    def save(self, path):
        numbers = range(1, self._count + 1)
        self._change("ppt/presentation.xml", "</p:sldMasterIdLst>", lambda m: m[0] + "<p:sldIdLst>"
                     + "".join(f'<p:sldId id="{255 + n}" r:id="slide{n}"/>' for n in numbers) + "</p:sldIdLst>")
        self._change("ppt/_rels/presentation.xml.rels", "</Relationships>", lambda m: "".join(
            f'<Relationship Id="slide{n}" Type="{_RELATIONS}slide" Target="slides/slide{n}.xml"/>' for n in numbers) + m[0])
        self._change("[Content_Types].xml", "</Types>", lambda m: "".join(
            f'<Override PartName="/ppt/slides/slide{n}.xml" ContentType="{_SLIDE_TYPE}"/>' for n in numbers) + m[0])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            for name, text in self._parts.items():
                z.writestr(zipfile.ZipInfo(name, _DATE), text, zipfile.ZIP_DEFLATED)

    def _change(self, part, pattern, by):
        self._parts[part], times = re.subn(pattern, by, self._parts[part])
        if times != 1:
            raise ValueError(f"the template is not one of the house's: {part}")


def _paragraph(text):
    clean = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text)  # what XML cannot hold
    return f"<a:p><a:r><a:rPr lang=\"en-US\"/><a:t>{escape(clean)}</a:t></a:r></a:p>"


def _shape(number, name, placeholder, text):
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{name}"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph {placeholder}/></p:nvPr>'
        f"</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:lstStyle/>{text}</p:txBody></p:sp>"
    )
