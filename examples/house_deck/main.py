"""Makes a presentation in the house style: the slides come as arguments, the style is template.pptx's."""
import json
import os

from deck import Deck

with open(os.environ["ARTIFIC_ARGUMENTS"], encoding="utf-8") as f:
    args = json.load(f)
with open("themes.json", encoding="utf-8") as f:
    themes = json.load(f)

deck = Deck("template.pptx")
deck.accent(themes[args.get("theme", "house")])
deck.slide(args["title"], [])
for s in args["slides"]:
    deck.slide(s["heading"], s.get("bullets", []))
deck.save(os.path.join(os.environ["ARTIFIC_OUTPUTS"], "presentation.pptx"))
print(f"{len(args['slides']) + 1} slides written")
