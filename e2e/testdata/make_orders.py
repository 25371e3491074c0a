"""Writes orders.csv: 4,000 orders of a shop, some with faults as real exports have them. The seed is fixed: the same file each time.

    python3 e2e/testdata/make_orders.py > e2e/testdata/orders.csv
"""
import datetime
import random

random.seed(20260131)
# Only random() is used: its sequence for a seed is the same in every version of Python.
pick = lambda values: values[int(random.random() * len(values))]
between = lambda low, high: low + int(random.random() * (high - low + 1))

products = [("apples", 249), ("bread", 385), ("coffee", 1299), ("honey", 745), ("olive oil", 1190), ("rice", 329), ("tea", 559)]
regions = ["north", "north", "south", "south", "south", "east", "west", "west"]

print("order,placed,region,product,quantity,unit_price,discount,returned")
for order in range(1, 4001):
    placed = datetime.date(2025, 1, 1) + datetime.timedelta(days=between(0, 364))
    name, cents = pick(products)
    cents += between(-20, 20)
    quantity = between(1, 4) * between(1, 6)
    discount = pick(["", "", "", "", "5", "10", "25"])
    returned = "yes" if random.random() < 0.06 else "no"
    price = f"{cents // 100}.{cents % 100:02}"
    fault = random.random()
    if fault < 0.001:
        quantity = ""
    elif fault < 0.002:
        quantity = -quantity
    elif fault < 0.003:
        price = price.replace(".", ",")
        price = f'"{price}"'
    elif fault < 0.004:
        discount = "100"
    print(f"{order},{placed},{pick(regions)},{name},{quantity},{price},{discount},{returned}")
