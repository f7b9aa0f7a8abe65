// What a report's page does beside being read: zoom, the overview, the details of a step, search
// and sorting. All text from the model is set as text, never as markup.
(function () {
    'use strict';
    const facts = JSON.parse(document.getElementById('facts').textContent);
    const net = document.getElementById('net'), scroll = document.getElementById('scroll');
    const map = document.getElementById('map'), view = document.getElementById('view');
    const detail = document.getElementById('detail');
    document.documentElement.classList.add('scripted');
    if (!net) return;
    const width = net.width.baseVal.value, height = net.height.baseVal.value;
    let zoom = 1;

    function element(name, text, parent) {
        const made = document.createElement(name);
        made.textContent = text;
        parent.appendChild(made);
        return made;
    }

    function time(ns) {
        return ns < 999.5 ? ns + ' ns' : ns < 999500 ? (ns / 1e3).toPrecision(3) + ' µs' : (ns / 1e6).toPrecision(3) + ' ms';
    }

    // --- zoom and overview
    function showView() {
        if (!view) return;
        view.setAttribute('x', Math.min(scroll.scrollLeft / zoom, width));
        view.setAttribute('y', scroll.scrollTop / zoom);
        view.setAttribute('width', Math.min(scroll.clientWidth / zoom, width));
        view.setAttribute('height', Math.min(scroll.clientHeight / zoom, height));
    }

    function setZoom(to) {
        const x = (scroll.scrollLeft + scroll.clientWidth / 2) / zoom, y = (scroll.scrollTop + scroll.clientHeight / 2) / zoom;
        zoom = Math.min(3, Math.max(0.02, to));
        net.setAttribute('width', Math.round(width * zoom));
        net.setAttribute('height', Math.round(height * zoom));
        scroll.scrollLeft = x * zoom - scroll.clientWidth / 2;
        scroll.scrollTop = y * zoom - scroll.clientHeight / 2;
        showView();
    }

    document.querySelectorAll('[data-z]').forEach(function (button) {
        button.addEventListener('click', function () {
            const factor = Number(button.dataset.z);
            setZoom(factor === 0 ? Math.min(scroll.clientWidth / width, scroll.clientHeight / height)
                : factor === 1 ? 1 : zoom * factor);
        });
    });
    scroll.addEventListener('scroll', showView);
    window.addEventListener('resize', showView);
    if (map) {
        const move = function (event) {
            if (event.buttons === 0 && event.type !== 'click') return;
            const box = map.getBoundingClientRect();
            scroll.scrollLeft = (event.clientX - box.left) / box.width * width * zoom - scroll.clientWidth / 2;
            scroll.scrollTop = (event.clientY - box.top) / box.height * height * zoom - scroll.clientHeight / 2;
        };
        map.addEventListener('click', move);
        map.addEventListener('mousemove', move);
    }

    // --- the details of a step
    function valueText(number) {
        const value = facts.values[number];
        if (!value) return '';
        return value.tensor + ': ' + value.type + ' ' + (value.shape ? value.shape.join('×') : '') + ' ' + value.format +
            (value.space ? ', device' : '') + (value.source === 'constant' ? ', constant' : '');
    }

    function addList(title, items) {
        if (!items || items.length === 0) return;
        element('p', title, detail);
        const list = document.createElement('ul');
        items.forEach(function (item) { element('li', item, list); });
        detail.appendChild(list);
    }

    function addCandidates(candidates) {
        if (!candidates) return;
        const sorted = candidates.slice().sort(function (a, b) { return a.ns - b.ns; });
        const list = document.createElement('ol');
        element('p', 'candidates:', detail);
        list.className = 'bars cand';
        sorted.forEach(function (candidate) {
            const row = element('li', '', list);
            row.className = (candidate.chosen ? 'won ' : '') + (candidate.time === 'measured' ? 'ms' : 'es');
            element('b', candidate.label, row);
            element('i', '', row).style.width = Math.min(100, 25 * candidate.ns / Math.max(sorted[0].ns, 1)) + '%';
            element('span', time(candidate.ns), row);
        });
        detail.appendChild(list);
    }

    function pick(number, isFromTable) {
        const step = facts.steps[number];
        if (!step) return;
        document.querySelectorAll('.picked').forEach(function (old) { old.classList.remove('picked'); });
        document.querySelectorAll('[data-s="' + number + '"]').forEach(function (one) { one.classList.add('picked'); });
        detail.textContent = '';
        element('h3', step.name, detail);
        element('p', 'step ' + number + ', ' + step.op + (step.kernel ? ', kernel ' + step.kernel : '') +
            (step.library ? ' of ' + step.library : ''), detail);
        if (step.ns > 0)
            element('p', time(step.ns) + ', ' + (100 * step.ns / facts.total_ns).toFixed(1) + '% of all steps', detail);
        addList('absorbs:', step.absorbed);
        addList('put in place by rewrite:', step.rewrites);
        addList('reads:', step.inputs.map(valueText));
        addList('writes:', step.outputs.map(valueText));
        addCandidates(step.candidates);
        const box = net.querySelector('[data-s="' + number + '"]');
        if (isFromTable && box) {
            const at = box.transform.baseVal.getItem(0).matrix;
            scroll.scrollLeft = at.e * zoom - scroll.clientWidth / 2;
            scroll.scrollTop = at.f * zoom - scroll.clientHeight / 2;
        }
    }

    document.addEventListener('click', function (event) {
        const one = event.target.closest('[data-s]');
        if (one) pick(Number(one.dataset.s), one.tagName === 'TR');
    });

    // --- search
    const find = document.getElementById('find');
    if (find) {
        find.addEventListener('input', function () {
            const wanted = find.value.toLowerCase();
            let first = null;
            facts.steps.forEach(function (step, number) {
                const text = (step.name + ' ' + step.op + ' ' + (step.kernel || '') + ' ' + (step.absorbed || []).concat(step.rewrites || []).join(' ')).toLowerCase();
                const isFound = text.includes(wanted);
                if (isFound && first === null) first = number;
                document.querySelectorAll('[data-s="' + number + '"]').forEach(function (one) {
                    if (one.tagName === 'TR') one.hidden = !isFound;
                    else one.classList.toggle('dim', !isFound);
                });
            });
            if (wanted && first !== null) pick(first, true);
        });
    }

    // --- sorting
    document.querySelectorAll('.sort th').forEach(function (heading) {
        heading.addEventListener('click', function () {
            const body = heading.closest('table').tBodies[0], column = heading.cellIndex;
            const isNumber = heading.classList.contains('n');
            const sign = heading.dataset.down === '1' ? 1 : isNumber ? -1 : 1;
            heading.dataset.down = heading.dataset.down === '1' ? '0' : '1';
            const key = function (row) {
                const text = row.cells[column].textContent;
                return isNumber ? parseFloat(text) || 0 : text;
            };
            Array.from(body.rows).map(function (row) { return [key(row), row]; }).sort(function (a, b) {
                return sign * (isNumber ? a[0] - b[0] : a[0].localeCompare(b[0]));
            }).forEach(function (pair) { body.appendChild(pair[1]); });
        });
    });

    const first = net.querySelector('.n');
    if (first) scroll.scrollLeft = first.transform.baseVal.getItem(0).matrix.e + 75 - scroll.clientWidth / 2;
    showView();
})();
