/* run_script.c - what the page of a run can do beyond being read, where scripts may run: zoom, clock times, search
 *
 * The page is whole without it. It sends no requests, keeps nothing and takes no text of the run for anything but text.
 */
#include "report/report_internal.h"

const char report_script[] =
    "(()=>{'use strict';"
    "const all=(s,e)=>[...(e||document).querySelectorAll(s)];"
    "const make=(tag,text,title)=>{const e=document.createElement(tag);e.textContent=text;e.title=title||'';return e};"
    /* zoom: the chart gets wider than its frame, and what was in the middle stays there */
    "const charts=all('.chart.time');let zoom=1;"
    "const set=z=>{const was=zoom;zoom=Math.min(32,Math.max(1,z));for(const c of charts){"
    "const mid=c.scrollLeft+c.clientWidth/2,w=Math.min(c.clientWidth,1200);for(const s of all('svg',c)){"
    "s.style.maxWidth=zoom>1?'none':'';s.style.width=zoom>1?zoom*w+'px':''}"
    "c.scrollLeft=mid*zoom/was-c.clientWidth/2}};"
    "const bar=make('p','');bar.className='tools';"
    "const button=(text,title,f)=>{const b=make('button',text,title);b.onclick=f;bar.append(b)};"
    "if(charts.length){charts[0].before(bar);button('−','smaller (key -)',()=>set(zoom/2));button('+','larger (key "
    "+)',()=>set(zoom*2));"
    "button('whole','all of it (key 0)',()=>set(1));for(const c of charts)"
    "c.addEventListener('wheel',e=>{if(e.ctrlKey){e.preventDefault();set(zoom*(e.deltaY<0?1.25:.8))}},{passive:false})}"
    /* every time of the page, counted from the beginning or by the clock of who reads */
    "let clock=false;const times=all('.t');times.forEach(t=>t.dataset.from=t.textContent);"
    "const tell=()=>{clock=!clock;for(const t of times)t.textContent=clock?"
    "new Date(t.title).toLocaleTimeString([],{hour12:false})+'.'+t.title.slice(20,23):t.dataset.from};"
    "button('clock times','times by the clock, or from the beginning (key c)',tell);"
    /* search: outputs that have it are opened, the others hidden */
    "const outputs=all('#output details');if(outputs.length){const find=make('input','');find.type='search';"
    "find.placeholder='search in all output (key /)';find.id='find';const said=make('span','');said.className='d';"
    "find.oninput=()=>{const word=find.value.toLowerCase();let n=0;for(const o of outputs){"
    "const has=o.textContent.toLowerCase().includes(word);o.hidden=!has;o.open=has&&word!=='';n+=has}"
    "said.textContent=word?' '+n+' of '+outputs.length:''};"
    "outputs[0].before(find,said)}"
    "const open=()=>{const t=location.hash&&document.getElementById(decodeURIComponent(location.hash.slice(1)));"
    "for(let e=t;e;e=e.parentElement)if(e.tagName==='DETAILS')e.open=true;if(t)t.scrollIntoView({block:'center'})};"
    "addEventListener('hashchange',open);open();"
    "addEventListener('keydown',e=>{if(e.target.tagName==='INPUT'||e.ctrlKey||e.metaKey||e.altKey)return;"
    "const f={'+':()=>set(zoom*2),'-':()=>set(zoom/2),0:()=>set(1),c:tell,"
    "'/':()=>{const i=document.getElementById('find');if(i){e.preventDefault();i.focus()}}}[e.key];if(f)f()});"
    "})()";
