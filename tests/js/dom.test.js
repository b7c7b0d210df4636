import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { load, openPage } from "./browser.js";

const { window } = openPage();
const { button, debounce, fill, h } = await load("dom.js");
const HOSTILE = "<img src=x onerror=alert(1)>";

test("text and attributes never become markup", () => {
  for (const property of ["innerHTML", "outerHTML"]) {
    Object.defineProperty(window.Element.prototype, property, {
      get: () => "",
      set() {
        assert.fail(`${property} was set`);
      },
      configurable: true,
    });
  }
  window.Element.prototype.insertAdjacentHTML = () => assert.fail("insertAdjacentHTML was called");
  const element = h("p", { title: HOSTILE, class: HOSTILE }, HOSTILE, h("em", {}, HOSTILE));
  fill(element, ...element.childNodes, HOSTILE);
  element.append(button({ text: HOSTILE, label: HOSTILE, key: HOSTILE }));
  assert.equal(element.querySelector("img"), null);
  assert.equal(element.firstChild.nodeType, Node.TEXT_NODE);
  assert.equal(element.firstChild.textContent, HOSTILE);
  assert.equal(element.getAttribute("title"), HOSTILE);
});

test("missing properties and children are left out, lists of children are flattened", () => {
  const element = h("p", { hidden: true, id: null, title: undefined, lang: false }, null, [
    "a",
    undefined,
    "b",
  ]);
  assert.deepEqual(element.getAttributeNames(), ["hidden"]);
  assert.equal(element.textContent, "ab");
  fill(element, null, "c");
  assert.equal(element.textContent, "c");
});

test("listeners are attached, not written into attributes", () => {
  let clicks = 0;
  const element = button({ text: "Accept", click: () => (clicks += 1) });
  element.click();
  assert.equal(clicks, 1);
  assert.equal(element.hasAttribute("onclick"), false);
});

test("a debounced call runs once, with the last values, unless it is cancelled", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const calls = [];
  const call = debounce((value) => calls.push(value), 100);
  call(1);
  call(2);
  mock.timers.tick(99);
  assert.deepEqual(calls, []);
  mock.timers.tick(1);
  assert.deepEqual(calls, [2]);
  call(3);
  call.cancel();
  mock.timers.tick(200);
  assert.deepEqual(calls, [2]);
  mock.timers.reset();
});
