import assert from "node:assert/strict";
import { test } from "node:test";

import { load, openPage } from "./browser.js";

openPage();
const { listen, moveTarget } = await load("keyboard.js");

const grid = (current, more = {}) => ({ current, columns: 4, count: 10, hasFocus: true, ...more });

test("arrows move by cards and rows, and stop at the ends", () => {
  assert.equal(moveTarget("ArrowRight", grid(0)), 1);
  assert.equal(moveTarget("ArrowLeft", grid(0)), 0);
  assert.equal(moveTarget("ArrowDown", grid(3)), 7);
  assert.equal(moveTarget("ArrowDown", grid(7)), 7, "there is no card below");
  assert.equal(moveTarget("ArrowUp", grid(7)), 3);
  assert.equal(moveTarget("End", grid(2)), 9);
  assert.equal(moveTarget("Home", grid(2)), 0);
  assert.equal(moveTarget("PageDown", grid(2)), 9);
  assert.equal(moveTarget("PageUp", grid(9)), 0);
  assert.equal(moveTarget("x", grid(2)), null);
});

test("without the focus the first arrow only shows it; an empty grid does not move", () => {
  assert.equal(moveTarget("ArrowRight", grid(2, { hasFocus: false })), 2);
  assert.equal(moveTarget("ArrowRight", grid(2, { hasFocus: false }), true), 3);
  assert.equal(moveTarget("ArrowRight", grid(0, { count: 0 })), null);
});

const seen = [];
const page = { "/": () => seen.push("page /"), redo: () => seen.push("page redo") };
listen(() => ({ key: (name) => (name === "a" || /\d/.test(name)) && seen.push(name) }), page);

function press(options, target = document.body) {
  seen.length = 0;
  const event = new window.KeyboardEvent("keydown", {
    bubbles: true,
    cancelable: true,
    ...options,
  });
  target.dispatchEvent(event);
  return [...seen, event.defaultPrevented];
}

test("the view has a key first, then the page; other keys are the browser's", () => {
  assert.deepEqual(press({ key: "a" }), ["a", true]);
  assert.deepEqual(press({ key: "/" }), ["page /", true]);
  assert.deepEqual(press({ key: "x" }), [false]);
  assert.deepEqual(press({ key: "a", altKey: true }), [false]);
  assert.deepEqual(press({ key: "Z", ctrlKey: true, shiftKey: true }), ["page redo", true]);
});

test("with Shift the digit is that of the key, whatever it types", () => {
  assert.deepEqual(press({ key: "!", code: "Digit1", shiftKey: true }), ["1", true]);
  assert.deepEqual(press({ key: "&", code: "Digit1" }), ["1", true]);
});

test("keys belong to the user who is typing, and to an open dialog", () => {
  const input = document.createElement("input");
  input.setAttribute("type", "search");
  document.body.append(input);
  assert.deepEqual(press({ key: "a" }, input), [false]);
  input.setAttribute("type", "range");
  assert.deepEqual(press({ key: "a" }, input), ["a", true]);
  assert.deepEqual(press({ key: "ArrowRight" }, input), [false]);
  input.remove();
  const dialog = document.createElement("dialog");
  dialog.setAttribute("open", "");
  document.body.append(dialog);
  assert.deepEqual(press({ key: "a" }), [false]);
  dialog.remove();
});
